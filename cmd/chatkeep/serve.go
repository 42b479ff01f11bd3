package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/gateway/httpapi"
	"github.com/chatkeep/chatkeep/internal/clock"
)

func newServe(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(f.config, os.Environ())
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			return serve(ctx, f.config, cfg, cmd.ErrOrStderr())
		},
	}
}

// Bounds on what a client may do to a connection.
const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = 60 * time.Second
	idleTimeout   = 2 * time.Minute
	// bodySlack is what a JSON body may hold beside the text of its message, which
	// escaping (\uXXXX for three bytes) may double.
	bodySlack = 64 << 10
)

// serve runs the gateway until ctx ends, then drains and returns nil.
func serve(ctx context.Context, path string, cfg *config.Config, logTo io.Writer) error {
	level := new(slog.LevelVar)
	log := newLogger(cfg.Log, level, logTo)
	a, err := newApp(ctx, cfg, "", log)
	if err != nil {
		return explain(err)
	}
	err = a.serve(ctx, path, level)
	if closeErr := a.close(); err == nil {
		err = closeErr
	}
	return err
}

// smallHeap is how far, in percent, a server's heap may grow between collections
// where GOGC does not say: a few megabytes are alive, so collecting sooner is cheap and
// keeps some three megabytes out of what is resident.
const smallHeap = 50

func (a *app) serve(ctx context.Context, path string, level *slog.LevelVar) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(smallHeap)
	}
	// Before anybody can know that this process is there: an early hangup would end it.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	if err := a.gateway.SyncTasks(ctx, configuredTasks(a.cfg.Load(), a.gateway)); err != nil {
		return fmt.Errorf("tasks of the configuration: %w", err)
	}
	servers, err := a.listen()
	if err != nil {
		return err
	}
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	group, groupCtx := errgroup.WithContext(work)
	for _, s := range servers {
		group.Go(func() error {
			if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve %s: %w", s.listener.Addr(), err)
			}
			return nil
		})
		a.log.Info("listening", "address", s.listener.Addr().String(), "serves", s.name)
	}
	group.Go(func() error { return a.gateway.Run(groupCtx) })
	group.Go(func() error {
		a.reloadOnHangup(groupCtx, hangups, path, level)
		return nil
	})
	group.Go(func() error {
		<-groupCtx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(groupCtx), a.cfg.Load().Server.ShutdownGrace.Std()+time.Second)
		defer cancel()
		for _, s := range servers {
			if err := s.http.Shutdown(grace); err != nil {
				a.log.Warn("open connections were cut", "address", s.listener.Addr().String())
				_ = s.http.Close()
			}
		}
		return nil
	})
	return group.Wait()
}

// server is one listener and what it serves.
type server struct {
	name     string
	listener net.Listener
	http     *http.Server
}

// listen opens the configured listeners.
func (a *app) listen() ([]server, error) {
	h, cfg := a.handlers(), a.cfg.Load().Server
	if cfg.AdminListen == "" {
		return open(cfg.Listen, "everything", h.All(), nil)
	}
	servers, err := open(cfg.Listen, "channels", h.Public(), nil)
	if err != nil {
		return nil, err
	}
	return open(cfg.AdminListen, "admin", h.Admin(), servers)
}

func open(address, name string, h http.Handler, others []server) ([]server, error) {
	listener, err := net.Listen("tcp", address) //nolint:noctx // opened once, at start
	if err != nil {
		for _, o := range others {
			_ = o.listener.Close()
		}
		return nil, fmt.Errorf("listen: %w; choose another address with server.listen", err)
	}
	return append(others, server{name, listener, &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, IdleTimeout: idleTimeout,
	}}), nil
}

func (a *app) handlers() *httpapi.Server {
	from := a.cfg.Load()
	cfg := httpapi.Config{
		AdminToken: from.Server.AdminToken.Reveal(), Version: version,
		MaxBody: 2*from.Limits.MaxInboundBytes + bodySlack, TrustedProxies: from.Server.TrustedProxies,
		Redacted: func() ([]byte, error) { return json.Marshal(a.cfg.Load().Redacted()) },
	}
	if guard, err := imageGuard(from); err == nil {
		cfg.CheckURL = guard.CheckURL
	}
	for _, account := range from.Channels.API {
		tokens := make([]string, len(account.Tokens))
		for i, t := range account.Tokens {
			tokens[i] = t.Reveal()
		}
		cfg.Accounts = append(cfg.Accounts, httpapi.Account{Name: account.Account, Tokens: tokens})
	}
	for i := range from.Agents {
		agent := &from.Agents[i]
		cfg.Agents = append(cfg.Agents, httpapi.AgentInfo{ID: agent.ID, Kind: string(agent.Kind), Model: agent.Model, ContextWindow: agent.ContextWindow})
	}
	httpapi.Observe(a.metrics, health{a.gateway, a.store})
	return httpapi.New(cfg, httpapi.Deps{
		Chats: chats{a.gateway, a.store}, Stateless: a.gateway, Sessions: a.store, Control: a.gateway, Contexts: a.gateway, Pruner: a.gateway, Search: a.store, Exports: a.store, Imports: a.store, Slots: a.gateway, Compactor: a.gateway, Notebooks: a.gateway,
		Results: a.store, Approvals: a.store, ApprovalControl: a.gateway,
		Access: a.store, AccessControl: a.gateway, Usage: a.gateway,
		Queues: a.store, QueueControl: a.gateway, Tasks: a.gateway, TaskControl: a.gateway, Jobs: a.gateway, Health: health{a.gateway, a.store},
		Metrics: a.metrics, Tracer: a.tracer, Live: a.gateway.Live(),
	}, clock.Real(), a.log)
}

// reloadOnHangup reads the configuration again at SIGHUP and applies what is safe.
func (a *app) reloadOnHangup(ctx context.Context, hangups <-chan os.Signal, path string, level *slog.LevelVar) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			if err := a.reload(ctx, path, level); err != nil {
				a.log.Error("configuration was not reloaded; the old one stays", "error", err)
			}
		}
	}
}
