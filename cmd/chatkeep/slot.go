package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/slot"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func newSlot(f *flags) *cobra.Command {
	return newGroup("slot", "Operate on a session's context slots",
		newSlotList(f), newSlotCreate(f), newSlotDerive(f), newSlotSwitch(f), newSlotDelete(f),
	)
}

// slotFlags are those of every command on slots.
type slotFlags struct {
	session string
	json    bool
}

func (f *slotFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.session, "session", "", "key of the session (chatkeep session list shows them)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// run works on the slots of the session.
func (f *slotFlags) run(cmd *cobra.Command, cf *flags, work func(ctx context.Context, g *gateway.Gateway, key string) error) error {
	if f.session == "" {
		return fmt.Errorf("%w: --session KEY is missing; chatkeep session list shows the keys", errUsage)
	}
	k, err := sessionKey(f.session)
	if err != nil {
		return err
	}
	return withControl(cmd, cf, func(ctx context.Context, g *gateway.Gateway, _ store.Store) error {
		return slotError(work(ctx, g, k), k)
	})
}

// runOne is run for what comes to one slot; did says what was done to it.
func (f *slotFlags) runOne(cmd *cobra.Command, cf *flags, did string, work func(ctx context.Context, g *gateway.Gateway, key string) (*models.ContextSlot, error)) error {
	return f.run(cmd, cf, func(ctx context.Context, g *gateway.Gateway, key string) error {
		one, err := work(ctx, g, key)
		if err != nil {
			return err
		}
		if f.json {
			return printJSON(cmd.OutOrStdout(), one)
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s: %s, %d messages, %d tokens\n", did, one.ID, one.Mode, one.MessageCount, one.TotalTokens)
		return err
	})
}

// slotError says what to do about a slot that does not allow something.
func slotError(err error, key string) error {
	switch {
	case errors.Is(err, slot.ErrNotFound):
		return fmt.Errorf("the session has no slot %s; chatkeep slot list --session %q shows what there is", said(err, slot.ErrNotFound), key)
	case errors.Is(err, slot.ErrExists):
		return fmt.Errorf("the session has a slot %s already; choose another name", said(err, slot.ErrExists))
	case errors.Is(err, slot.ErrReadonly):
		return fmt.Errorf("the slot is read-only: %s; derive a slot from it instead", said(err, slot.ErrReadonly))
	default:
		return sessionError(err, key)
	}
}

func newSlotList(f *flags) *cobra.Command {
	sf := &slotFlags{}
	cmd := &cobra.Command{
		Use:   "list --session KEY",
		Short: "List a session's slots",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return sf.run(cmd, f, func(ctx context.Context, g *gateway.Gateway, key string) error {
				all, err := g.Slots(ctx, key)
				if err != nil {
					return err
				}
				if sf.json {
					return printJSON(cmd.OutOrStdout(), pageOf(all, ""))
				}
				w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
				_, _ = fmt.Fprintln(w, "SLOT\tCURRENT\tMODE\tSOURCE\tMESSAGES\tTOKENS\tCREATED")
				for _, s := range all {
					_, _ = fmt.Fprintf(w, "%s\t%t\t%s\t%s\t%d\t%d\t%s\n", s.ID, s.Current, s.Mode, s.Source.Kind, s.MessageCount, s.TotalTokens, stamp(s.CreatedAt))
				}
				return flushed(w)
			})
		},
	}
	sf.register(cmd)
	return cmd
}

// focusFlags say what a focused slot shows.
type focusFlags struct {
	focus models.Focus
	names []string
}

func (f *focusFlags) register(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.focus.RecentMessages, "recent", 0, "a focused slot shows this many of the newest messages")
	cmd.Flags().BoolVar(&f.focus.KeepSystem, "keep-system", false, "a focused slot shows the first system message")
	cmd.Flags().StringVar(&f.focus.SummaryOverride, "summary", "", "a focused slot ends with this summary")
	f.names = []string{"recent", "keep-system", "summary"}
}

// given is the focus, or nil if none of its flags was set.
func (f *focusFlags) given(cmd *cobra.Command) *models.Focus {
	for _, name := range f.names {
		if cmd.Flags().Changed(name) {
			return &f.focus
		}
	}
	return nil
}

func newSlotCreate(f *flags) *cobra.Command {
	sf, ff := &slotFlags{}, &focusFlags{}
	var mode string
	cmd := &cobra.Command{
		Use:   "create ID --session KEY",
		Short: "Add an empty slot",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return sf.runOne(cmd, f, "created", func(ctx context.Context, g *gateway.Gateway, key string) (*models.ContextSlot, error) {
				return g.CreateSlot(ctx, key, slot.New{ID: args[0], Mode: models.SlotMode(mode), Focused: ff.given(cmd)})
			})
		},
	}
	cmd.Flags().StringVar(&mode, "mode", "", "full, focused or readonly (default: full, or focused where a focus is given)")
	sf.register(cmd)
	ff.register(cmd)
	return cmd
}

func newSlotDerive(f *flags) *cobra.Command {
	sf, ff := &slotFlags{}, &focusFlags{}
	var parent, strategy string
	cmd := &cobra.Command{
		Use:   "derive ID --from PARENT --session KEY",
		Short: "Add a slot with a copy of another one's messages",
		Long: `Add a slot with a copy of another one's messages: all of them, or with --strategy
focused those that the focus shows. Afterwards the two are independent.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if parent == "" {
				return fmt.Errorf("%w: --from PARENT names the slot to copy", errUsage)
			}
			return sf.runOne(cmd, f, "derived", func(ctx context.Context, g *gateway.Gateway, key string) (*models.ContextSlot, error) {
				return g.DeriveSlot(ctx, key, parent, slot.Derive{ID: args[0], Strategy: models.DeriveStrategy(strategy), Focused: ff.given(cmd)})
			})
		},
	}
	cmd.Flags().StringVar(&parent, "from", "", "slot to copy")
	cmd.Flags().StringVar(&strategy, "strategy", string(models.DeriveFull), "full or focused")
	sf.register(cmd)
	ff.register(cmd)
	return cmd
}

func newSlotSwitch(f *flags) *cobra.Command {
	sf := &slotFlags{}
	cmd := &cobra.Command{
		Use:   "switch ID --session KEY",
		Short: "Make a slot current",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return sf.runOne(cmd, f, "switched to", func(ctx context.Context, g *gateway.Gateway, key string) (*models.ContextSlot, error) {
				return g.SwitchSlot(ctx, key, args[0])
			})
		},
	}
	sf.register(cmd)
	return cmd
}

func newSlotDelete(f *flags) *cobra.Command {
	sf := &slotFlags{}
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "delete ID --session KEY",
		Short: "Delete a slot and its messages; the default slot stays",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return sf.run(cmd, f, func(ctx context.Context, g *gateway.Gateway, key string) error {
				change, err := g.DeleteSlot(ctx, key, args[0], dryRun)
				if err != nil {
					return err
				}
				if sf.json {
					return printJSON(cmd.OutOrStdout(), change)
				}
				did := "deleted"
				if dryRun {
					did = "dry run: would delete"
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s with %d messages\n", did, args[0], change.Changed-1)
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would change")
	sf.register(cmd)
	return cmd
}
