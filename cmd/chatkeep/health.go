package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/config"
)

const (
	healthPath    = "/healthz"
	healthTimeout = 5 * time.Second
	healthBody    = 4 << 10
)

func newHealth(f *flags) *cobra.Command {
	var address string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask a running server whether it is alive",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			target, err := healthURL(f, address)
			if err != nil {
				return err
			}
			body, err := askHealth(cmd.Context(), target)
			if err != nil {
				return fmt.Errorf("no healthy server at %s: %w; start one with chatkeep serve, or name another with --url", target, err)
			}
			if asJSON {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", strings.TrimSpace(body))
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "ok")
			return err
		},
	}
	cmd.Flags().StringVar(&address, "url", "", "the server's URL (default: where the configuration listens)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer")
	return cmd
}

// healthURL is the URL to ask: the given one, its path filled in if it has none.
func healthURL(f *flags, given string) (string, error) {
	if given == "" {
		cfg, err := config.Load(f.config, os.Environ())
		if err != nil {
			return "", err
		}
		return listenURL(cfg.Server.Listen)
	}
	u, err := url.Parse(given)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%w: --url must be an http or https URL", errUsage)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = healthPath
	}
	return u.String(), nil
}

// listenURL reaches a listener from its own machine.
func listenURL(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", fmt.Errorf("server.listen: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	return "http://" + net.JoinHostPort(host, port) + healthPath, nil
}

func askHealth(ctx context.Context, target string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return "", err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy: it is this machine's
	resp, err := client.Do(req)
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // without the method and URL
		}
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, healthBody))
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("it answered %s", resp.Status)
	}
	return string(body), nil
}
