package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func newSessionCompact(f *flags) *cobra.Command {
	cf := &changeFlags{}
	var slot, instructions string
	cmd := &cobra.Command{
		Use:   "compact KEY",
		Short: "Replace the older part of a session's context by a summary",
		Long: `Let the agent of session.compaction.agent, or the session's own, summarise the older
messages of a context slot, now and whether or not session.compaction is enabled. The
newest messages stay; nothing is deleted. With --dry-run no agent is asked.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := sessionKey(args[0])
			if err != nil {
				return err
			}
			return withAgents(cmd, f, k, func(ctx context.Context, g *gateway.Gateway, st store.Store) error {
				session, err := st.Session(ctx, k)
				if err != nil {
					return sessionError(err, k)
				}
				if slot == "" {
					slot = session.CurrentSlot
				}
				compacted, err := g.Compact(ctx, k, slot, instructions, cf.dryRun)
				if errors.Is(err, store.ErrNotFound) {
					return noSlot(k, slot)
				}
				if err != nil {
					return fmt.Errorf("the context stays as it is: %w", explain(err))
				}
				if cf.json {
					return printJSON(cmd.OutOrStdout(), compacted)
				}
				return printCompacted(cmd, compacted)
			})
		},
	}
	cmd.Flags().StringVar(&slot, "slot", "", "context slot (default: the current one)")
	cmd.Flags().StringVar(&instructions, "instructions", "", "what the summary is to heed")
	cf.register(cmd)
	return cmd
}

func printCompacted(cmd *cobra.Command, c gateway.Compacted) error {
	did := fmt.Sprintf("messages summarised: %d, kept: %d; tokens: %d, before: %d", c.Changed, c.Skipped, c.TokensAfter, c.TokensBefore)
	switch {
	case c.Reason != "":
		did = "nothing changed: " + c.Reason
	case c.DryRun:
		did = fmt.Sprintf("dry run: messages to summarise: %d, to keep: %d; tokens now: %d", c.Changed, c.Skipped, c.TokensBefore)
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), did)
	return err
}

// withAgents runs work with a gateway that can ask agents and runs no turn.
func withAgents(cmd *cobra.Command, f *flags, only string, work func(ctx context.Context, g *gateway.Gateway, st store.Store) error) error {
	cfg, st, err := openStorage(cmd, f)
	if err != nil {
		return err
	}
	log := quietLogger(cfg, cmd.ErrOrStderr())
	tools, err := newToolbox(cfg, st, clock.Real(), log)
	if err != nil {
		return errors.Join(err, st.Close())
	}
	defer tools.close()
	g, err := newGateway(cfg, st, tools, models.NewID("replica"), only, log)
	if err != nil {
		return errors.Join(err, st.Close())
	}
	return errors.Join(work(cmd.Context(), g, st), st.Close())
}
