package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/chatkeep/chatkeep/internal/simulator"
)

// simulated is a running platform, for the page and the prompt.
type simulated interface {
	simulator.Platform
	// Config is what a gateway needs in its configuration to talk to it.
	Config() string
	Close()
}

func newSimulate() *cobra.Command {
	return newGroup("simulate", "Play a chat platform on this machine, to try the gateway without an account",
		simulateCommand("feishu", "127.0.0.1:9091", newFeishuSimulation),
		simulateCommand("dingtalk", "127.0.0.1:9092", newDingTalkSimulation),
	)
}

func simulateCommand(name, platformAddress string, start func(address string) (simulated, error)) *cobra.Command {
	var page, platform string
	var noPrompt bool
	cmd := &cobra.Command{
		Use:   name,
		Short: "Simulate " + name + ": a page in the browser and a prompt here",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := start(platform)
			if err != nil {
				return fmt.Errorf("simulate %s: %w; choose another address with --platform", name, err)
			}
			defer p.Close()
			in := cmd.InOrStdin()
			if noPrompt {
				in = nil
			}
			return simulate(cmd.Context(), p, page, in, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&page, "listen", "127.0.0.1:9090", "where the page is served")
	cmd.Flags().StringVar(&platform, "platform", platformAddress, "where the simulated platform listens for the gateway")
	cmd.Flags().BoolVar(&noPrompt, "no-prompt", false, "serve the page only, until the program is stopped")
	return cmd
}

// simulate serves the page, and the prompt if there is input, until either ends.
func simulate(ctx context.Context, p simulated, address string, in io.Reader, out io.Writer) error {
	listener, err := net.Listen("tcp", address) //nolint:noctx // opened once, at start
	if err != nil {
		return fmt.Errorf("simulate: %w; choose another address with --listen", err)
	}
	_, _ = fmt.Fprintf(out, "Page: http://%s\nPut this into the gateway's configuration and start it:\n\n%s\n", listener.Addr(), p.Config())
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	server := &http.Server{Handler: simulator.Page(p), ReadHeaderTimeout: headerTimeout, BaseContext: func(net.Listener) context.Context { return ctx }}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("simulate: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-groupCtx.Done()
		stop() // ends the pages' event streams
		grace, cancel := context.WithTimeout(context.WithoutCancel(groupCtx), time.Second)
		defer cancel()
		if server.Shutdown(grace) != nil {
			_ = server.Close()
		}
		return nil
	})
	if in != nil {
		group.Go(func() error {
			defer stop()
			return simulator.Terminal(groupCtx, p, in, out)
		})
	}
	return group.Wait()
}
