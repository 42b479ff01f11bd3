package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/store"
)

func newSessionPrune(f *flags) *cobra.Command {
	cf := &changeFlags{}
	var slot string
	cmd := &cobra.Command{
		Use:   "prune KEY",
		Short: "Shorten what the model is sent of a session's old tool calls",
		Long: `Shorten what the model is sent of old tool calls and their results, as session.pruning
says, now and whether or not it is enabled. Stored messages stay as they are, except that
mode hard deletes those beyond session.maxMessages. With --dry-run nothing changes.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := sessionKey(args[0])
			if err != nil {
				return err
			}
			return withControl(cmd, f, func(ctx context.Context, g *gateway.Gateway, st store.Store) error {
				session, err := st.Session(ctx, k)
				if err != nil {
					return sessionError(err, k)
				}
				if slot == "" {
					slot = session.CurrentSlot
				}
				pruning, err := g.Prune(ctx, k, slot, cf.dryRun)
				if errors.Is(err, store.ErrNotFound) {
					return noSlot(k, slot)
				}
				if err != nil {
					return explain(err)
				}
				if cf.json {
					return printJSON(cmd.OutOrStdout(), pruning)
				}
				return printPruning(cmd, pruning)
			})
		},
	}
	cmd.Flags().StringVar(&slot, "slot", "", "context slot (default: the current one)")
	cf.register(cmd)
	return cmd
}

func printPruning(cmd *cobra.Command, p gateway.Pruning) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	if len(p.Items) > 0 {
		_, _ = fmt.Fprintln(w, "SEQ\tROLE\tPRUNED\tWHY\tCHARACTERS\tNOW")
	}
	for _, item := range p.Items {
		_, _ = fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%d\t%d\n", item.Seq, item.Role, item.Pruned, item.Why, item.Size, item.Now)
	}
	if err := flushed(w); err != nil {
		return err
	}
	did := "messages shortened: " + strconv.Itoa(p.Changed-p.Deleted) + ", deleted: " + strconv.Itoa(p.Deleted)
	if p.Reason != "" {
		did = "nothing changed: " + p.Reason
	}
	if p.DryRun {
		did = "dry run: " + did
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), did)
	return err
}
