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

	"github.com/chatkeep/chatkeep/config"
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

func newTaskAdd(f *flags) *cobra.Command {
	var id, spec, at, zone, agent, session, missed, until, owner string
	var target models.TaskTarget
	var secretFile string
	var grace, timeout time.Duration
	var maxRuns, retries, notifyAfter, pauseAfter int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "add PROMPT",
		Short: "Schedule a task",
		Example: `  chatkeep task add --schedule "0 9 * * 1-5" --timezone Asia/Shanghai --channel feishu --account main --chat oc_abc "Summarise yesterday."
  chatkeep task add --at 2026-12-01T09:00:00+08:00 --channel api --account default --user lin "Remind me of the release."`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt, err := readPrompt(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			cfg, st, err := openStorage(cmd, f)
			if err != nil {
				return err
			}
			agent = cmp.Or(agent, cfg.Agents[0].ID)
			if secretFile != "" {
				secret, secretErr := config.ReadSecret(secretFile)
				if secretErr != nil {
					return errors.Join(st.Close(), fmt.Errorf("--secret-file: %w", secretErr))
				}
				target.Secret = secret
			}
			if err := errors.Join(st.Close(), knownAgent(cfg, agent)); err != nil {
				return err
			}
			return withControl(cmd, f, func(ctx context.Context, g *gateway.Gateway, _ store.Store) error {
				if owner == models.OwnerConfig {
					return fmt.Errorf("%w: --owner config is of the configuration's own tasks", errUsage)
				}
				t := g.NewTask(owner)
				t.ID, t.Schedule, t.Timezone, t.Prompt, t.AgentID = cmp.Or(id, t.ID), spec, cmp.Or(zone, t.Timezone), prompt, agent
				t.Session, t.Missed, t.Grace, t.Timeout, t.MaxRuns = models.TaskSession(session), models.MissedPolicy(missed), grace, timeout, maxRuns
				t.Retries, t.NotifyAfter, t.PauseAfter = retries, notifyAfter, pauseAfter
				if target != (models.TaskTarget{}) {
					t.Deliver = &target
				}
				if t.At, err = moment("--at", at); err != nil {
					return err
				}
				if t.Until, err = moment("--until", until); err != nil {
					return err
				}
				view, err := g.CreateTask(ctx, t)
				if err != nil {
					return taskError(err, t.ID)
				}
				return printTask(cmd, view, asJSON)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&id, "id", "", "name of the task (default: a new one)")
	flags.StringVar(&spec, "schedule", "", "five cron fields, or @every 10m")
	flags.StringVar(&at, "at", "", "instead of --schedule: one moment, such as 2026-12-01T09:00:00+08:00")
	flags.StringVar(&zone, "timezone", "", "IANA zone of the schedule (default: the configuration's)")
	flags.StringVar(&agent, "agent", "", "agent that runs it (default: the first in the configuration)")
	flags.StringVar(&session, "session", string(models.TaskPersistent), "persistent, or isolated: each run on its own")
	flags.StringVar(&missed, "missed", string(models.MissedOnce), "times later than --grace: once runs the newest, skip records it")
	flags.DurationVar(&grace, "grace", 15*time.Second, "how late a run may be")
	flags.DurationVar(&timeout, "timeout", 10*time.Minute, "bounds a whole run, retries included")
	flags.IntVar(&retries, "retries", 2, "how often a failed attempt is repeated within the timeout")
	flags.IntVar(&notifyAfter, "notify-after", 3, "failed runs in a row after which its owner is told; 0: never")
	flags.IntVar(&pauseAfter, "pause-after", 10, "failed runs in a row after which it is paused; 0: never")
	flags.StringVar(&until, "until", "", "the last moment it may run")
	flags.IntVar(&maxRuns, "max-runs", 0, "how often it runs at most; 0: no bound")
	flags.StringVar(&owner, "owner", models.OwnerAdmin, "who is told of failures: channel/account/userId")
	flags.StringVar(&target.Channel, "channel", "", "channel that the answer goes to")
	flags.StringVar(&target.Account, "account", "", "account of the channel")
	flags.StringVar(&target.ChatID, "chat", "", "group that the answer goes to")
	flags.StringVar(&target.ThreadID, "thread", "", "thread of the group")
	flags.StringVar(&target.UserID, "user", "", "person that the answer goes to")
	flags.StringVar(&target.URL, "url", "", "URL that the answer is posted to")
	flags.StringVar(&secretFile, "secret-file", "", "file with the secret that signs what is posted to --url")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func knownAgent(cfg *config.Config, id string) error {
	if !hasAgent(cfg, id) {
		return fmt.Errorf("agent %q is not configured; use one of: %s", id, strings.Join(agentIDs(cfg), ", "))
	}
	return nil
}

func moment(flag, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, fmt.Errorf("%w: %s needs a time with its offset, such as 2026-12-01T09:00:00+08:00", errUsage, flag)
	}
	return &at, nil
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
