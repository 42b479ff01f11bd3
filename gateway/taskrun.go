package gateway

import (
	"context"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// SilentToken is the answer of a task that has nothing to say: nothing is sent.
const SilentToken = "NO_REPLY"

// taskRun is what the envelope of a task's run holds besides a message: all of it is
// settled when the run is fired.
type taskRun struct {
	TaskID string `json:"taskId"`
	RunID  string `json:"runId"`
	// Target is where the answer goes; nil: nowhere.
	Target *runTarget `json:"target,omitempty"`
	// Chat is the session that the delivered answer becomes part of; nil: none.
	Chat *models.Session `json:"chat,omitempty"`
	// Background is set if it becomes background of the chat instead: each member has a
	// session of their own.
	Background bool `json:"background,omitempty"`
	// Timeout bounds the whole run; zero: only its attempts are bounded.
	Timeout time.Duration `json:"timeout"`
	Retries int           `json:"retries"`
}

// runTarget is a [models.Target] that survives being stored.
type runTarget struct {
	ChatID   string `json:"chatId,omitempty"`
	UserID   string `json:"userId,omitempty"`
	ThreadID string `json:"threadId,omitempty"`
	Direct   bool   `json:"direct,omitempty"`
	URL      string `json:"url,omitempty"`
}

func (t *runTarget) model() models.Target {
	if t == nil {
		return models.Target{}
	}
	out := models.Target{ChatID: t.ChatID, UserID: t.UserID, ThreadID: t.ThreadID, Direct: t.Direct}
	if t.URL != "" {
		out.Ref = []byte(t.URL)
	}
	return out
}

// Pauses between the attempts of a run: the first, doubling up to the last, spread
// by a quarter either way.
const (
	firstRunRetry = 5 * time.Second
	lastRunRetry  = time.Minute
)

// timeLeft is how much of its time a run has left: it may have lived through the death
// of a process, or been handed back. It is never zero, which would be no bound.
func (r *turn) timeLeft(ctx context.Context) (time.Duration, error) {
	whole, now := r.env.Run.timeout(r.agent.Timeout), r.g.now()
	if due := r.env.Message.SentAt; now.Before(due) { // the database's clock is a little ahead of this one
		now = due
	}
	began, err := r.g.store.StartRun(ctx, r.env.Run.RunID, now)
	switch {
	case errors.Is(err, store.ErrNotFound): // its task was deleted meanwhile
		return whole, nil
	case err != nil:
		return 0, err
	}
	return max(min(whole, whole-now.Sub(began)), time.Nanosecond), nil
}

// timeout is how long the run may take if one attempt may take so long.
func (t *taskRun) timeout(attempt time.Duration) time.Duration {
	if t.Timeout > 0 {
		return t.Timeout
	}
	return time.Duration(t.Retries+1) * (attempt + 2*lastRunRetry)
}

// respondOrRetry asks the agent; a task's run asks again after a failure that may pass.
func (r *turn) respondOrRetry(ctx context.Context, request *agents.Request) (*agents.Response, error) {
	if r.env.Run == nil {
		return r.respond(ctx, request)
	}
	pause := firstRunRetry
	for retries := r.env.Run.Retries; ; retries-- {
		bounded, cancel := withTurnTimeout(ctx, r.agent.Timeout)
		response, err := r.respond(bounded, request)
		late := errors.Is(context.Cause(bounded), errTurnTimeout)
		cancel()
		if err != nil && late && agents.KindOf(err) != agents.Timeout {
			err = &agents.Error{Kind: agents.Timeout, Err: err}
		}
		if err == nil || retries <= 0 || !passing(err) || ctx.Err() != nil {
			return response, err
		}
		r.g.log.Info("task is tried again", "task", r.env.Run.TaskID, "run", r.env.Run.RunID, "error", err)
		if clock.Sleep(ctx, r.g.clock, pause*3/4+rand.N(pause/2)) != nil {
			return nil, err
		}
		pause = min(2*pause, lastRunRetry)
	}
}

// passing reports whether another attempt may end better.
func passing(err error) bool {
	switch agents.KindOf(err) {
	case agents.Overflow, agents.Auth:
		return false
	default:
		return true
	}
}

// audible is what is sent of a task's answer.
func audible(answer string) string {
	if strings.TrimSpace(answer) == SilentToken {
		return ""
	}
	return answer
}

func (r *turn) answerKind() models.DeliveryKind {
	if r.env.Run != nil {
		return models.DeliveryPush
	}
	return models.DeliveryAnswer
}

// taskWork is what the gateway knows of runs, for the schedule's runner.
type taskWork struct{ g *Gateway }

// Started wakes the workers.
func (w taskWork) Started() { w.g.pool.Nudge() }

// Ran tells how far a run is.
func (w taskWork) Ran(run *models.TaskRun) { w.g.announceRun(run) }

// Settled wakes the senders.
func (w taskWork) Settled() { w.g.outbox.nudge() }

// Message makes the message that a run is in the inbox.
func (w taskWork) Message(t *models.Task, run *models.TaskRun) (*store.AcceptRequest, error) {
	return w.message(t, run, "")
}

// message is Message for a run that somebody asked for, at a place in a trace.
func (w taskWork) message(t *models.Task, run *models.TaskRun, trace string) (*store.AcceptRequest, error) {
	g := w.g
	env := envelope{
		AgentID: t.AgentID, Trace: trace,
		Message: &adapters.Message{Chat: adapters.Chat{Type: adapters.Direct}, Text: t.Prompt, SentAt: run.ScheduledAt},
		Run:     &taskRun{TaskID: t.ID, RunID: run.ID, Timeout: t.Timeout, Retries: t.Retries},
	}
	in := models.Inbound{
		ID: models.NewID("inb"), Channel: key.ChannelTask, Account: t.ID, Kind: models.KindMessage,
		Awaited: true, ReceivedAt: g.now(), // never merged: each run has its own answer
	}
	segment := ""
	if d := t.Deliver; d != nil && d.URL != "" {
		env.Run.Target = &runTarget{ChatID: t.ID, URL: d.URL}
	} else if d != nil {
		target := runTarget{ChatID: d.ChatID, UserID: d.UserID, ThreadID: d.ThreadID, Direct: d.UserID != ""}
		chat, err := g.chatSession(d.Channel, d.Account, target.model())
		switch {
		case errors.Is(err, ErrUnknownAccount): // here, or now: the answer waits for whoever has it
			g.log.Warn("task delivers to an account that is not configured here", "task", t.ID, "channel", d.Channel, "account", d.Account)
		case err != nil:
			return nil, err
		}
		env.Run.Target, env.Run.Chat = &target, chat
		env.Run.Background = g.membersApart(d.Channel, d.Account, target.model())
		env.Message.Chat.ID, env.Message.Chat.ThreadID = d.ChatID, d.ThreadID
		in.Channel, in.Account, segment = d.Channel, d.Account, d.Channel
	}
	_, _, env.Message.Sender.ID, _ = splitOwner(t.Owner) //nolint:dogsled // only who it is matters here
	in.SenderID = env.Message.Sender.ID
	runID := ""
	if t.Session == models.TaskIsolated {
		runID = run.ID
	}
	k, err := key.Task(t.AgentID, segment, t.ID, runID)
	if err != nil {
		return nil, err
	}
	env.Scope, env.ScopeID = k.Scope, k.ScopeID
	in.SessionKey, run.SessionKey = k.String(), k.String()
	if in.Payload, err = env.encode(); err != nil {
		return nil, err
	}
	fingerprint := sha256.Sum256([]byte(t.Prompt))
	return &store.AcceptRequest{
		Inbound: in, Fingerprint: fingerprint[:],
		DedupKeys: []string{"task\x00" + t.ID + "\x00" + strconv.FormatInt(run.ScheduledAt.UnixMicro(), 10)},
	}, nil
}

// Forget deletes the session that a run had to itself.
func (w taskWork) Forget(ctx context.Context, run *models.TaskRun) error {
	if _, err := w.g.Delete(ctx, run.SessionKey, false); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return w.g.store.ForgetRun(ctx, run.ID)
}
