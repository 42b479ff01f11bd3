package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func newTaskRun(f *flags) *cobra.Command {
	var asJSON, queue bool
	cmd := &cobra.Command{
		Use:   "run ID",
		Short: "Run a task now, besides its schedule, and print its answer",
		Long: `Run a task now, besides its schedule, and print its answer. A paused task runs too.

The answer goes where the task's answers go. Beside a running server either of them
does the work; without one this command does. --queue only puts the run in line.
A run that is under way already, or in line, is waited for instead.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			var run *models.TaskRun
			var waits bool
			err := withControl(cmd, f, func(ctx context.Context, g *gateway.Gateway, st store.Store) (err error) {
				if run, err = g.RunTask(ctx, args[0]); errors.Is(err, store.ErrConflict) {
					waits = true
					run, err = runUnderWay(ctx, st, args[0])
				}
				return err
			})
			switch {
			case err != nil:
				return taskError(err, args[0])
			case waits && queue:
				return fmt.Errorf("a run of task %s is under way; wait for it", args[0])
			case waits:
				_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "chatkeep: a run of task %s is under way already; this is its answer\n", args[0])
				return follow(ctx, cmd, f, run, asJSON)
			case queue && asJSON:
				return printJSON(cmd.OutOrStdout(), run)
			case queue:
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s waits for a running server\n", run.ID)
				return nil
			}
			return follow(ctx, cmd, f, run, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the run as JSON")
	cmd.Flags().BoolVar(&queue, "queue", false, "do not wait: leave the run to a running server")
	return cmd
}

// follow does the work of a run that is in line, unless a running server does, and
// prints what comes of it.
func follow(ctx context.Context, cmd *cobra.Command, f *flags, run *models.TaskRun, asJSON bool) error {
	cfg, err := config.Load(f.config, os.Environ())
	if err != nil {
		return err
	}
	cfg.Server.ShutdownGrace = 0 // an interrupt hands the run back at once; a few seconds are left to send
	a, err := newApp(ctx, cfg, run.SessionKey, quietLogger(cfg, cmd.ErrOrStderr()))
	if err != nil {
		return explain(err)
	}
	watcher := a.gateway.Watch(run.InboundID)
	defer watcher.Close()
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- a.gateway.Run(work) }()
	out := &printer{out: cmd.OutOrStdout(), errOut: cmd.ErrOrStderr(), json: asJSON, plain: isTerminal(cmd.OutOrStdout())}
	for followed := false; !followed && err == nil; {
		u, nextErr := watcher.Next(ctx)
		if followed, err = u.Done != nil, nextErr; err == nil && !followed {
			out.update(u)
		}
	}
	stop()
	if ended := <-done; err == nil { // what there was to send is sent, or left to a server
		err = ended
	}
	if err == nil {
		err = printRun(context.WithoutCancel(ctx), a.store, run, out)
	} else if ctx.Err() != nil {
		err = fmt.Errorf("interrupted; the run stays in line for a running server, see chatkeep task runs %s", run.TaskID)
	}
	return errors.Join(err, a.close())
}

// printRun prints what a run came to.
func printRun(ctx context.Context, st store.Store, run *models.TaskRun, out *printer) error {
	in, err := st.Inbound(ctx, run.InboundID)
	if err != nil {
		return explain(err)
	}
	ended, err := findRun(ctx, st, run)
	if err != nil {
		return explain(err)
	}
	if out.json {
		if err := printJSON(out.out, ended); err != nil {
			return err
		}
		return outcomeError(in)
	}
	if err := out.finish(in); err != nil {
		return err
	}
	switch ended.DeliveryState {
	case models.RunDeliveryPending:
		_, _ = fmt.Fprintln(out.errOut, "chatkeep: the answer waits to be sent; a running server goes on with it")
	case models.RunDeliveryFailed:
		return errors.New("the answer could not be sent; look at GET /admin/v1/deliveries?state=failed")
	case models.RunDeliveryNone, models.RunDeliveryDelivered:
	}
	return nil
}

// runUnderWay is the run of a task that has not ended.
func runUnderWay(ctx context.Context, st store.Store, id string) (*models.TaskRun, error) {
	return recentRun(ctx, st, id, func(r *models.TaskRun) bool { return !r.State.Final() })
}

// findRun reads a recent run as it stands.
func findRun(ctx context.Context, st store.Store, run *models.TaskRun) (*models.TaskRun, error) {
	return recentRun(ctx, st, run.TaskID, func(r *models.TaskRun) bool { return r.ID == run.ID })
}

func recentRun(ctx context.Context, st store.Store, taskID string, is func(*models.TaskRun) bool) (*models.TaskRun, error) {
	runs, _, err := st.TaskRuns(ctx, store.TaskRunQuery{TaskID: taskID, Limit: maxLimit})
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(runs, is); i >= 0 {
		return runs[i], nil
	}
	return nil, errors.New("the run has ended meanwhile; see chatkeep task runs " + taskID)
}
