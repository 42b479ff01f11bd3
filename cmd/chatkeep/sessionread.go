package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/transfer"
	"github.com/chatkeep/chatkeep/store"
)

// sessionView is what show prints: the session as the API gives it, and its slots.
type sessionView struct {
	*models.Session

	Slots []*models.ContextSlot `json:"slots"`
}

func newSessionShow(f *flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show KEY",
		Short: "Show a session and its slots",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := sessionKey(args[0])
			if err != nil {
				return err
			}
			return withStorage(cmd, f, func(ctx context.Context, st store.Store) error {
				record, err := st.SessionRecord(ctx, k)
				if err != nil {
					return sessionError(err, k)
				}
				view := viewOf(record)
				if asJSON {
					return printJSON(cmd.OutOrStdout(), view)
				}
				return view.print(cmd.OutOrStdout())
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func viewOf(r *store.SessionRecord) sessionView {
	view := sessionView{Session: &r.Session}
	for _, c := range r.Contexts {
		if c.SetAsideAt.IsZero() {
			view.Slots = append(view.Slots, &c.Slot)
		}
	}
	return view
}

func (v sessionView) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, value string) { _, _ = fmt.Fprintf(w, "%s\t%s\n", name, printable(value)) }
	row("key", v.Key)
	row("title", oneLineText(v.Title))
	row("state", string(v.State))
	row("agent", v.AgentID)
	row("last seen on", v.Channel+"/"+v.Account)
	row("messages", strconv.Itoa(v.MessageCount))
	row("tokens", strconv.Itoa(v.TotalTokenCount))
	row("pinned", strconv.FormatBool(v.Pinned))
	row("created", stamp(v.CreatedAt))
	row("last activity", stamp(v.LastActivityAt))
	for _, s := range v.Slots {
		mark := ""
		if s.Current {
			mark = ", current"
		}
		row("slot "+s.ID, fmt.Sprintf("%s, %d messages, %d tokens%s", s.Mode, s.MessageCount, s.TotalTokens, mark))
	}
	return flushed(w)
}

func flushed(w *tabwriter.Writer) error {
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

func newSessionHistory(f *flags) *cobra.Command {
	var slot, search, cursor string
	var limit int
	var before int64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "history KEY",
		Short: "Print the newest messages of a session, oldest first, or find some by words",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := sessionKey(args[0])
			if err != nil {
				return err
			}
			if err := checkLimit(limit); err != nil {
				return err
			}
			if before < 0 {
				return fmt.Errorf("%w: --before must be the seq of a message", errUsage)
			}
			searches := cmd.Flags().Changed("search")
			switch {
			case searches && before > 0:
				return fmt.Errorf("%w: --before is not for --search; use --cursor", errUsage)
			case !searches && cursor != "":
				return fmt.Errorf("%w: --cursor is for --search; use --before", errUsage)
			case searches:
				return withStorage(cmd, f, func(ctx context.Context, st store.Store) error {
					s := sessionSearch{key: k, slot: slot, query: search, cursor: cursor, limit: limit, asJSON: asJSON}
					return s.run(ctx, cmd, st)
				})
			}
			return withStorage(cmd, f, func(ctx context.Context, st store.Store) error {
				messages, err := readHistory(ctx, st, k, slot, before, limit+1)
				if err != nil {
					return err
				}
				next := ""
				if len(messages) > limit { // the oldest of them begins the next page
					messages = messages[len(messages)-limit:]
					next = strconv.FormatInt(messages[0].Seq, 10)
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), pageOf(whole(messages), next))
				}
				return printMessages(cmd, messages, next)
			})
		},
	}
	cmd.Flags().StringVar(&slot, "slot", "", "context slot (default: the current one; for --search all)")
	cmd.Flags().StringVar(&search, "search", "", "only messages that have all of these words, newest first")
	cmd.Flags().StringVar(&cursor, "cursor", "", "go on with a search")
	cmd.Flags().IntVar(&limit, "limit", 50, "how many at most")
	cmd.Flags().Int64Var(&before, "before", 0, "only messages with a smaller seq")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func readHistory(ctx context.Context, st store.Store, k, slot string, before int64, limit int) ([]*models.SessionMessage, error) {
	session, err := st.Session(ctx, k)
	if err != nil {
		return nil, sessionError(err, k)
	}
	if slot == "" {
		slot = session.CurrentSlot
	}
	messages, err := st.Messages(ctx, k, slot, before, limit)
	if errors.Is(err, store.ErrNotFound) {
		return nil, noSlot(k, slot)
	}
	if err != nil {
		return nil, explain(err)
	}
	return messages, nil
}

func noSlot(k, slot string) error {
	return fmt.Errorf("the session has no slot %q; chatkeep session show %q lists them", slot, k)
}

// whole makes absent lists empty ones, as the API shows them.
func whole(messages []*models.SessionMessage) []*models.SessionMessage {
	for _, m := range messages {
		if m.Images == nil {
			m.Images = []string{}
		}
		if m.ToolCalls == nil {
			m.ToolCalls = []models.ToolCall{}
		}
	}
	return messages
}

func printMessages(cmd *cobra.Command, messages []*models.SessionMessage, next string) error {
	out := cmd.OutOrStdout()
	for _, m := range messages {
		who := string(m.Role)
		if m.SenderName != "" {
			who += " " + oneLineText(m.SenderName)
		}
		_, err := fmt.Fprintf(out, "[%d] %s %s\n%s\n\n", m.Seq, stamp(m.CreatedAt), printable(who), printable(m.Content))
		if err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	if next != "" {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "more: --before %s\n", next)
	}
	return nil
}

func newSessionExport(f *flags) *cobra.Command {
	var slot, format string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "export KEY",
		Short: "Write a session to standard output",
		Long: `Write a session to standard output: jsonl holds all of it but what was undone or set
aside by a reset, one JSON document per line, and can be imported again; markdown and
html are for reading.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := sessionKey(args[0])
			if err != nil {
				return err
			}
			as, err := transfer.ParseFormat(format)
			if err != nil {
				return fmt.Errorf("%w: --format: %w", errUsage, err)
			}
			if asJSON && as != transfer.JSONL {
				return fmt.Errorf("%w: --json is --format jsonl; give one of them", errUsage)
			}
			return withStorage(cmd, f, func(ctx context.Context, st store.Store) error {
				err := transfer.Export(ctx, st, k, transfer.Options{Format: as, Slot: slot}, cmd.OutOrStdout())
				if errors.Is(err, transfer.ErrNoSlot) {
					return noSlot(k, slot)
				}
				if err != nil {
					return sessionError(err, k)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&slot, "slot", "", "only this context slot (default: all)")
	cmd.Flags().StringVar(&format, "format", string(transfer.JSONL), "jsonl, markdown or html")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as --format jsonl")
	return cmd
}
