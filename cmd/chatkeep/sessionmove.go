package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/store"
)

func newSessionArchive(f *flags) *cobra.Command {
	cf := &changeFlags{}
	cmd := &cobra.Command{
		Use:   "archive KEY",
		Short: "Archive a session that is not in use",
		Long: `Archive a session that is not in use. Nothing of it is lost: the next message of its
chat makes it active again, and so does restore.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cf.run(cmd, f, args[0], "sessions archived: %d", func(ctx context.Context, g *gateway.Gateway, _ store.Store, key string) (gateway.Change, error) {
				return g.Archive(ctx, key, cf.dryRun)
			})
		},
	}
	cf.register(cmd)
	return cmd
}

func newSessionMove(f *flags) *cobra.Command {
	cf := &changeFlags{}
	var from, to string
	cmd := &cobra.Command{
		Use:   "move --from KEY --to KEY",
		Short: "Give a session another key",
		Long: `Give a session, with its slots, notes, variables and files, another key: for when a
change of the configuration (an account's name, a scope, an identity) gave its chat a
new one. There must be no session under the new key yet, and neither may be in use.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" || to == "" {
				return fmt.Errorf("%w: move needs --from KEY and --to KEY", errUsage)
			}
			target, err := sessionKey(to)
			if err != nil {
				return err
			}
			return cf.run(cmd, f, from, "sessions moved: %d", func(ctx context.Context, g *gateway.Gateway, _ store.Store, key string) (gateway.Change, error) {
				if key == target {
					return gateway.Change{}, fmt.Errorf("%w: --from and --to are the same session", errUsage)
				}
				change, err := g.Move(ctx, key, target, cf.dryRun)
				if err != nil {
					return change, moveError(err, target)
				}
				cfg, err := config.Load(f.config, os.Environ())
				if err != nil {
					return change, err
				}
				return change, warnOfAgent(cmd, cfg, target)
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the key that the session has")
	cmd.Flags().StringVar(&to, "to", "", "the key that it is to have")
	cf.register(cmd)
	return cmd
}

// moveError says what to do about a session that cannot be moved.
func moveError(err error, to string) error {
	switch {
	case errors.Is(err, store.ErrExists):
		return fmt.Errorf("there is a session %s already; delete it, or move it elsewhere, first", to)
	case errors.Is(err, store.ErrConflict):
		return errors.New("one of the two is in use: a message is being answered, or an answer is on its way; try again when it has arrived")
	}
	return err
}
