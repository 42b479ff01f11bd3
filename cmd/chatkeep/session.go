package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

func newSession(f *flags) *cobra.Command {
	return newGroup("session", "Operate on sessions",
		newSessionList(f), newSessionShow(f), newSessionHistory(f), newSessionExport(f), newSessionImport(f),
		newSessionCompact(f), newSessionPrune(f), newSessionReset(f), newSessionArchive(f), newSessionRestore(f), newSessionMove(f), newSessionDelete(f),
	)
}

// openStorage opens the storage for a command that operates on what is stored.
func openStorage(cmd *cobra.Command, f *flags) (*config.Config, store.Store, error) {
	cfg, err := config.Load(f.config, os.Environ())
	if err != nil {
		return nil, nil, err
	}
	if cfg.Storage.Driver == config.DriverMemory {
		return nil, nil, errors.New("storage driver memory keeps nothing between processes; ask the running server through its admin API")
	}
	st, err := openStore(cmd.Context(), cfg.Storage, false, nil, quietLogger(cfg, cmd.ErrOrStderr()))
	if err != nil {
		return nil, nil, explain(err)
	}
	return cfg, st, nil
}

// withStorage runs work on the opened storage.
func withStorage(cmd *cobra.Command, f *flags, work func(ctx context.Context, st store.Store) error) error {
	return withConfigured(cmd, f, func(ctx context.Context, _ *config.Config, st store.Store) error { return work(ctx, st) })
}

// withConfigured is withStorage for work that needs the configuration too.
func withConfigured(cmd *cobra.Command, f *flags, work func(ctx context.Context, cfg *config.Config, st store.Store) error) error {
	cfg, st, err := openStorage(cmd, f)
	if err != nil {
		return err
	}
	return errors.Join(work(cmd.Context(), cfg, st), st.Close())
}

// withControl runs work with a gateway that changes sessions and runs no turn.
func withControl(cmd *cobra.Command, f *flags, work func(ctx context.Context, g *gateway.Gateway, st store.Store) error) error {
	cfg, st, err := openStorage(cmd, f)
	if err != nil {
		return err
	}
	settings, err := settingsOf(cfg, silentAgents(cfg))
	if err != nil {
		return errors.Join(err, st.Close())
	}
	g, err := gateway.New(gateway.Config{Owner: models.NewID("command"), Lease: cfg.Storage.Lease.Std(), Workers: 1},
		settings, st, nil, clock.Real(), quietLogger(cfg, cmd.ErrOrStderr()))
	if err != nil {
		return errors.Join(err, st.Close())
	}
	return errors.Join(work(cmd.Context(), g, st), st.Close())
}

// silentAgents are the configured agents with what their contexts are measured by;
// they cannot be asked.
func silentAgents(cfg *config.Config) map[string]gateway.Agent {
	out := make(map[string]gateway.Agent, len(cfg.Agents))
	for i := range cfg.Agents {
		a := &cfg.Agents[i]
		out[a.ID] = gateway.Agent{ID: a.ID, SystemPrompt: a.SystemPrompt, ContextWindow: a.ContextWindow, MaxTokens: a.MaxTokens}
	}
	return out
}

// sessionKey checks the argument that names a session.
func sessionKey(arg string) (string, error) {
	k, err := key.Parse(arg)
	if err != nil {
		return "", fmt.Errorf("%w: %w; chatkeep session list shows the keys", errUsage, err)
	}
	return k.String(), nil
}

// warnOfAgent warns of a session that nobody answers: its agent is not configured.
func warnOfAgent(cmd *cobra.Command, cfg *config.Config, sessionKey string) error {
	k, err := key.Parse(sessionKey)
	if err != nil || slices.ContainsFunc(cfg.Agents, func(a config.Agent) bool { return a.ID == k.AgentID }) {
		return err
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "warning: agent %s of session %s is not configured; no chat will reach the session\n", printable(k.AgentID), printable(sessionKey))
	return err
}

// sessionError says what is wrong with an operation on a session, without the
// operations below that it passed through.
func sessionError(err error, key string) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("there is no session %s; chatkeep session list shows what there is", key)
	case errors.Is(err, store.ErrInvalid):
		return fmt.Errorf("%w: %s", errUsage, said(err, store.ErrInvalid))
	case errors.Is(err, store.ErrConflict):
		return fmt.Errorf("not possible: %s", said(err, store.ErrConflict))
	default:
		return explain(err)
	}
}

// said is what an error says besides its sentinel and the operations before it.
func said(err, sentinel error) string {
	text, name := err.Error(), sentinel.Error()
	if _, after, ok := strings.Cut(text, name+": "); ok {
		return after
	}
	text = strings.TrimSuffix(text, ": "+name)
	return text[strings.LastIndex(": "+text, ": "):]
}

// page is the form of every list.
type page[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"nextCursor"`
}

func pageOf[T any](items []T, next string) page[T] {
	if items == nil {
		items = []T{}
	}
	return page[T]{items, next}
}

// maxLimit is the largest page.
const maxLimit = 500

func checkLimit(n int) error {
	if n < 1 || n > maxLimit {
		return fmt.Errorf("%w: --limit must be a number from 1 to %d", errUsage, maxLimit)
	}
	return nil
}

// stamp shows a time to the second, in the local zone.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Local().Format(time.DateTime)
}
