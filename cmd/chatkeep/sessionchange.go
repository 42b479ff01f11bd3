package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/store"
)

// eraseBatch bounds the rows that one statement erases.
const eraseBatch = 500

// changeFlags are those of every command that changes a session.
type changeFlags struct {
	dryRun bool
	json   bool
}

func (f *changeFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only say what would change")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// run carries out one operation on a session; did says what it came to, with a %d.
func (f *changeFlags) run(cmd *cobra.Command, cf *flags, arg, did string, do func(ctx context.Context, g *gateway.Gateway, st store.Store, key string) (gateway.Change, error)) error {
	k, err := sessionKey(arg)
	if err != nil {
		return err
	}
	return withControl(cmd, cf, func(ctx context.Context, g *gateway.Gateway, st store.Store) error {
		change, err := do(ctx, g, st, k)
		if err != nil {
			return sessionError(err, k)
		}
		if f.json {
			return printJSON(cmd.OutOrStdout(), change)
		}
		if f.dryRun {
			did = "dry run: " + did
		}
		if change.Reason != "" {
			did += " (" + change.Reason + ")"
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), did+"\n", change.Changed)
		return err
	})
}

func newSessionReset(f *flags) *cobra.Command {
	cf := &changeFlags{}
	cmd := &cobra.Command{
		Use:   "reset KEY",
		Short: "Start an empty context in a session's current slot",
		Long: `Start an empty context in a session's current slot. What was there can be brought
back with restore for as long as retention.resets says.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cf.run(cmd, f, args[0], "messages set aside: %d", func(ctx context.Context, g *gateway.Gateway, _ store.Store, key string) (gateway.Change, error) {
				return g.Reset(ctx, key, cf.dryRun)
			})
		},
	}
	cf.register(cmd)
	return cmd
}

// latestReset is the only reset that can be restored.
const latestReset = "latest"

func newSessionRestore(f *flags) *cobra.Command {
	cf := &changeFlags{}
	var reset string
	cmd := &cobra.Command{
		Use:   "restore KEY [--reset latest]",
		Short: "Make a session active, or bring back what its latest reset set aside",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch reset {
			case "":
				return cf.run(cmd, f, args[0], "sessions restored: %d", func(ctx context.Context, g *gateway.Gateway, _ store.Store, key string) (gateway.Change, error) {
					return g.Activate(ctx, key, cf.dryRun)
				})
			case latestReset:
			default:
				return fmt.Errorf("%w: --reset must be latest", errUsage)
			}
			return cf.run(cmd, f, args[0], "contexts restored: %d", func(ctx context.Context, g *gateway.Gateway, st store.Store, key string) (gateway.Change, error) {
				if _, err := st.Session(ctx, key); err != nil {
					return gateway.Change{}, err
				}
				change, err := g.Restore(ctx, key, cf.dryRun)
				return change, nothingToRestore(err)
			})
		},
	}
	cmd.Flags().StringVar(&reset, "reset", "", `"latest": what the latest reset of the current slot set aside`)
	cf.register(cmd)
	return cmd
}

// nothingToRestore tells a missing reset from a missing session, which was looked for before.
func nothingToRestore(err error) error {
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
		return errors.New("no reset of the current slot is kept any more; there is nothing to restore")
	}
	return err
}

func newSessionDelete(f *flags) *cobra.Command {
	cf := &changeFlags{}
	cmd := &cobra.Command{
		Use:   "delete KEY",
		Short: "Erase a session and everything that belongs to it",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cf.run(cmd, f, args[0], "session deleted with its messages: %d", func(ctx context.Context, g *gateway.Gateway, st store.Store, key string) (gateway.Change, error) {
				change, err := g.Delete(ctx, key, cf.dryRun)
				if err != nil || cf.dryRun {
					return change, err
				}
				return change, eraseDeleted(ctx, st)
			})
		},
	}
	cf.register(cmd)
	return cmd
}

// eraseDeleted removes the bytes now: without a server no job would.
func eraseDeleted(ctx context.Context, st store.Store) error {
	for {
		done, err := st.EraseDeleted(ctx, eraseBatch)
		if err != nil || done {
			return err
		}
	}
}
