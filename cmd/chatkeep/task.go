package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func newTask(f *flags) *cobra.Command {
	return newGroup("task", "Operate on scheduled tasks",
		newTaskList(f), newTaskAdd(f), newTaskShow(f), newTaskRun(f),
		newTaskChange(f, "pause", "Start no more runs of a task", (*gateway.Gateway).PauseTask),
		newTaskChange(f, "resume", "Let a paused task go on", (*gateway.Gateway).ResumeTask),
		newTaskDelete(f), newTaskRuns(f),
	)
}

// taskError says what to do about a task that is not there, or cannot be.
func taskError(err error, id string) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("there is no task %s; chatkeep task list shows what there is", id)
	case errors.Is(err, store.ErrExists):
		return fmt.Errorf("there is a task %s already; choose another --id", id)
	case errors.Is(err, store.ErrInvalid):
		return fmt.Errorf("%w: %s", errUsage, strings.TrimPrefix(err.Error(), store.ErrInvalid.Error()+": "))
	}
	return explain(err)
}

func newTaskList(f *flags) *cobra.Command {
	var q store.TaskQuery
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List tasks, the newest first",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkLimit(q.Limit); err != nil {
				return err
			}
			return withControl(cmd, f, func(ctx context.Context, g *gateway.Gateway, _ store.Store) error {
				items, next, err := g.ListTasks(ctx, q)
				switch {
				case err != nil:
					return explain(err)
				case asJSON:
					return printJSON(cmd.OutOrStdout(), pageOf(items, next))
				}
				return printTasks(cmd, items, next)
			})
		},
	}
	cmd.Flags().StringVar(&q.Owner, "owner", "", "only tasks of this owner: channel/account/userId, config or admin")
	cmd.Flags().IntVar(&q.Limit, "limit", 50, "how many at most")
	cmd.Flags().StringVar(&q.Cursor, "cursor", "", "go on after an earlier page")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printTasks(cmd *cobra.Command, items []gateway.TaskView, next string) error {
	if len(items) == 0 {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "no tasks")
		return nil
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tWHEN\tZONE\tNEXT\tLAST\tOWNER\tPROMPT")
	for _, t := range items {
		next, last := "never", "never"
		if len(t.NextRuns) > 0 {
			next = t.NextRuns[0].Format(time.DateTime)
		}
		if t.Paused {
			next = "paused"
		}
		if t.LastRun != nil {
			last = string(t.LastRun.State)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, cmp.Or(t.Schedule, "once"), t.Timezone, next, last,
			printable(t.Owner), printable(oneLineText(t.Prompt)))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if next != "" {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "more: --cursor %s\n", next)
	}
	return nil
}

// withTask runs work that comes to a task, and prints it.
func withTask(f *flags, use, short string, work func(context.Context, *gateway.Gateway, string) (*gateway.TaskView, error)) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   use + " ID",
		Short: short,
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withControl(cmd, f, func(ctx context.Context, g *gateway.Gateway, _ store.Store) error {
				view, err := work(ctx, g, args[0])
				if err != nil {
					return taskError(err, args[0])
				}
				return printTask(cmd, view, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newTaskShow(f *flags) *cobra.Command {
	return withTask(f, "show", "Show a task", func(ctx context.Context, g *gateway.Gateway, id string) (*gateway.TaskView, error) {
		return g.Task(ctx, id)
	})
}

func newTaskChange(f *flags, use, short string, change func(*gateway.Gateway, context.Context, string) (*gateway.TaskView, error)) *cobra.Command {
	return withTask(f, use, short, func(ctx context.Context, g *gateway.Gateway, id string) (*gateway.TaskView, error) {
		return change(g, ctx, id)
	})
}

func printTask(cmd *cobra.Command, t *gateway.TaskView, asJSON bool) error {
	if asJSON {
		return printJSON(cmd.OutOrStdout(), t)
	}
	if err := printTasks(cmd, []gateway.TaskView{*t}, ""); err != nil {
		return err
	}
	for _, at := range t.NextRuns {
		_, _ = fmt.Fprintf(cmd.OutOrStdout(), "next  %s %s\n", at.Format(time.DateTime+" -0700"), t.Timezone)
	}
	return nil
}

func newTaskDelete(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "delete ID",
		Short: "Forget a task and its runs",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withControl(cmd, f, func(ctx context.Context, g *gateway.Gateway, _ store.Store) error {
				if err := g.DeleteTask(ctx, args[0]); err != nil {
					return taskError(err, args[0])
				}
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "task deleted: %s\n", args[0])
				return nil
			})
		},
	}
}

func newTaskRuns(f *flags) *cobra.Command {
	var q store.TaskRunQuery
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "runs ID",
		Short: "List the runs of a task, the latest first",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkLimit(q.Limit); err != nil {
				return err
			}
			q.TaskID = args[0]
			return withControl(cmd, f, func(ctx context.Context, g *gateway.Gateway, _ store.Store) error {
				items, next, err := g.TaskRuns(ctx, q)
				switch {
				case err != nil:
					return taskError(err, args[0])
				case asJSON:
					return printJSON(cmd.OutOrStdout(), pageOf(items, next))
				}
				return printRuns(cmd, items, next)
			})
		},
	}
	cmd.Flags().IntVar(&q.Limit, "limit", 50, "how many at most")
	cmd.Flags().StringVar(&q.Cursor, "cursor", "", "go on after an earlier page")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printRuns(cmd *cobra.Command, items []*models.TaskRun, next string) error {
	if len(items) == 0 {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "no runs")
		return nil
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "SCHEDULED\tSTATE\tDELIVERY\tTOOK\tTOKENS\tERROR")
	for _, r := range items {
		took := ""
		if r.StartedAt != nil && r.FinishedAt != nil {
			took = r.FinishedAt.Sub(*r.StartedAt).Round(time.Millisecond).String()
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", stamp(r.ScheduledAt), r.State, r.DeliveryState, took, r.Tokens, printable(oneLineText(r.Error)))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if next != "" {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "more: --cursor %s\n", next)
	}
	return nil
}
