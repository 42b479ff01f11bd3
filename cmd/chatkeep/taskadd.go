package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

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
