package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func newSessionList(f *flags) *cobra.Command {
	var q store.SessionQuery
	var scope, state string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List sessions, the newest first",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q.Scope, q.State = models.Scope(scope), models.SessionState(state)
			if err := checkSessionQuery(&q); err != nil {
				return err
			}
			return withStorage(cmd, f, func(ctx context.Context, st store.Store) error {
				items, next, err := listSessions(ctx, st, q)
				if err != nil {
					return explain(err)
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), pageOf(items, next))
				}
				return printSessions(cmd, items, next)
			})
		},
	}
	cmd.Flags().StringVar(&q.AgentID, "agent", "", "only sessions of this agent")
	cmd.Flags().StringVar(&q.Channel, "channel", "", "only sessions last used on this channel")
	cmd.Flags().StringVar(&scope, "scope", "", "only sessions of this scope")
	cmd.Flags().StringVar(&state, "state", "", "only sessions in this state: active, idle, compacted, archived")
	cmd.Flags().IntVar(&q.Limit, "limit", 50, "how many at most")
	cmd.Flags().StringVar(&q.Cursor, "cursor", "", "go on after an earlier page")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func checkSessionQuery(q *store.SessionQuery) error {
	if q.Scope != "" && !q.Scope.Valid() {
		known := make([]string, 0, len(models.Scopes()))
		for _, s := range models.Scopes() {
			known = append(known, string(s))
		}
		return fmt.Errorf("%w: --scope must be one of %s", errUsage, strings.Join(known, ", "))
	}
	if q.State != "" && !q.State.Valid() {
		return fmt.Errorf("%w: --state must be active, idle, compacted or archived", errUsage)
	}
	return checkLimit(q.Limit)
}

// listSessions fills a page: under a filter the store's pages may hold less.
func listSessions(ctx context.Context, st store.Sessions, q store.SessionQuery) (items []*models.Session, next string, err error) {
	for want := q.Limit; len(items) < want; {
		q.Limit = want - len(items)
		some, after, err := st.ListSessions(ctx, q)
		if err != nil {
			return nil, "", err
		}
		items, next = append(items, some...), after
		if next == "" {
			break
		}
		q.Cursor = next
	}
	return items, next, nil
}

func printSessions(cmd *cobra.Command, items []*models.Session, next string) error {
	if len(items) == 0 {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "no sessions")
		return nil
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "KEY\tSTATE\tMESSAGES\tTOKENS\tLAST ACTIVITY\tTITLE")
	for _, s := range items {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\n",
			printable(s.Key), s.State, s.MessageCount, s.TotalTokenCount, stamp(s.LastActivityAt), printable(oneLineText(s.Title)))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if next != "" {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "more: --cursor %s\n", next)
	}
	return nil
}

func oneLineText(s string) string { return strings.Join(strings.Fields(s), " ") }
