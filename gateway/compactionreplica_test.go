package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// heldRig is a rig whose model keeps summaries until they are let go, or are cancelled.
type heldRig struct {
	*summaryRig

	held   atomic.Int32 // how many are being made
	let    func()       // lets them go
	costly bool         // those that are cancelled have cost something
}

func newHeldRig(t *testing.T) *heldRig {
	t.Helper()
	free := make(chan struct{})
	r := &heldRig{summaryRig: &summaryRig{rig: newRig(t)}, let: sync.OnceFunc(func() { close(free) })}
	t.Cleanup(r.let)
	r.chat.Streaming, r.chat.WorkingSign = false, false
	r.config.Lease = time.Minute // whoever takes over does so because he was handed it
	r.settings.Compaction = gateway.Compaction{MaxTokens: 500, Threshold: 0.8, MinMessages: 8, KeepRecent: 4}
	r.mind.does(func(ctx context.Context, req *agents.Request) (*agents.Response, error) {
		if !strings.HasPrefix(req.Messages[0].Content, "You condense") {
			return answer("re: " + req.Text), nil
		}
		r.held.Add(1)
		defer r.held.Add(-1)
		select {
		case <-free:
			return answer("what was said"), nil
		case <-ctx.Done():
			if r.costly {
				return nil, agents.WithUsage(context.Cause(ctx), models.Usage{PromptTokens: 300, CompletionTokens: 100})
			}
			return nil, context.Cause(ctx)
		}
	})
	return r
}

// asksForASummary talks, and returns once a summary that was asked for by c1 is being made.
func (r *heldRig) asksForASummary() {
	r.t.Helper()
	r.talk(6)
	r.say(whisper("c1", "ann", "/compact"))
	r.until("the model is asked", func() bool { return r.held.Load() == 1 })
}

func (r *summaryRig) says(id, what string) {
	r.t.Helper()
	r.say(whisper(id, "ann", what))
	r.ends(id, models.InboundDone)
}

// Whatever makes a summary, and wherever, ends within about a second after it was
// stopped on another replica.
func TestSummaryIsStoppedOnAnotherReplica(t *testing.T) {
	t.Parallel()
	stop := func(r *heldRig) { r.says("c2", "/stop") }
	cancel := func(r *heldRig) { _, err := r.gateway.Cancel(context.Background(), r.key(), false); r.must(err) }
	for name, c := range map[string]struct {
		asks, ends func(r *heldRig)
		state      models.InboundState // of the command, if there is one
	}{
		"a command by /stop":        {(*heldRig).asksForASummary, stop, models.InboundCancelled},
		"a command by the operator": {(*heldRig).asksForASummary, cancel, models.InboundCancelled},
		"a command by /reset":       {(*heldRig).asksForASummary, func(r *heldRig) { r.says("c2", "/reset") }, models.InboundSuperseded},
		"the operator's by /stop":   {(*heldRig).operatorAsks, stop, ""},
		"the operator's":            {(*heldRig).operatorAsks, cancel, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newHeldRig(t)
			drain := r.run()
			defer func() { r.must(<-drain()) }()
			c.asks(r)
			r.config.Owner = "another replica"
			r.start()
			began := time.Now()
			c.ends(r)
			r.until("the model is not asked any more", func() bool { return r.held.Load() == 0 })
			t.Logf("it was cancelled after %s", time.Since(began).Round(time.Millisecond))
			if c.state != "" {
				r.ends("c1", c.state)
			}
			if s := r.session(); s.CompactionCount != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// operatorAsks has a summary made over the admin API.
func (r *heldRig) operatorAsks() {
	r.t.Helper()
	r.talk(6)
	done, g, key := make(chan struct{}), r.gateway, r.key()
	go func() {
		defer close(done)
		_, _ = g.Compact(context.Background(), key, "", "", false)
	}()
	r.t.Cleanup(func() {
		r.let()
		<-done
	})
	r.until("the model is asked", func() bool { return r.held.Load() == 1 })
}

// A process that stops leaves a summary to another one, which makes it and says so.
func TestSummaryIsHandedBack(t *testing.T) {
	t.Parallel()
	r := newHeldRig(t)
	drain := r.run()
	r.asksForASummary()
	r.must(<-drain())
	if in := r.inbound("c1"); in.State != models.InboundReceived || in.Attempts != 0 || r.held.Load() != 0 {
		t.Errorf("the command is %s after %d attempts", in.State, in.Attempts)
	}
	r.config.Lease = lease
	r.let()
	r.start()
	in := r.ends("c1", models.InboundDone)
	if s := r.session(); s.CompactionCount != 1 || !strings.HasPrefix(in.Reply.Content, "Summarised 8 messages: ") || r.shown(in.Reply.Content) != 1 {
		t.Errorf("reply %q, screen %q, %+v", in.Reply.Content, r.delivered(), s)
	}
}

// A summary in which five processes died is given up.
func TestSummaryThatKillsItsProcessIsSetAside(t *testing.T) {
	t.Parallel()
	r := newHeldRig(t)
	drain := r.run()
	r.asksForASummary()
	r.must(<-drain())
	r.config.Lease = lease
	for deaths := 0; deaths < 5; {
		got, err := r.store.ClaimCommands(context.Background(), store.ClaimRequest{Owner: "dying", Lease: time.Millisecond}, 1)
		r.must(err)
		deaths += len(got)
	}
	r.let()
	r.start()
	in := r.ends("c1", models.InboundDead)
	if s := r.session(); s.CompactionCount != 0 || r.shown(text.Say(text.English, text.MessageDead, "E-"+in.ID[len(in.ID)-6:])) != 1 {
		t.Errorf("screen %q, %+v", r.delivered(), s)
	}
}

// away is a store whose replica has lost its database.
type away struct {
	store.Store

	gone atomic.Bool
}

func (a *away) ChangeSession(ctx context.Context, key string, change func(store.SessionTx) error) error {
	if a.gone.Load() {
		return store.ErrUnavailable
	}
	return a.Store.ChangeSession(ctx, key, change)
}

func (a *away) RenewCommands(ctx context.Context, ids []string, c store.ClaimRequest) ([]string, error) {
	if a.gone.Load() {
		return nil, store.ErrUnavailable
	}
	return a.Store.RenewCommands(ctx, ids, c)
}

func (a *away) ReleaseCommand(ctx context.Context, id, owner string) error {
	if a.gone.Load() {
		return store.ErrUnavailable
	}
	return a.Store.ReleaseCommand(ctx, id, owner)
}

// takenOver has a replica lose its database while it makes a summary, until another one
// makes it too.
func (r *heldRig) takenOver() (lost *away, drain func() <-chan error) {
	r.t.Helper()
	r.config.Lease = lease
	shared := r.store
	lost = &away{Store: shared}
	r.store = lost
	drain = r.run()
	r.asksForASummary()
	lost.gone.Store(true)
	r.store, r.config.Owner = shared, "another replica"
	r.start()
	r.until("the other one makes it too", func() bool { return r.held.Load() == 2 })
	return lost, drain
}

// A replica that is cut off loses its summary to another one: there is one, and it is
// told once.
func TestSummaryOfALostReplicaIsTakenOver(t *testing.T) {
	t.Parallel()
	r := newHeldRig(t)
	lost, drain := r.takenOver()
	defer func() { r.must(<-drain()) }()
	r.let()
	in := r.ends("c1", models.InboundDone)
	lost.gone.Store(false)
	r.until("the first one gives up", func() bool { return r.held.Load() == 0 })
	if s := r.session(); s.CompactionCount != 1 || in.Attempts != 1 || r.shown(in.Reply.Content) != 1 {
		t.Errorf("%d attempts, screen %q, %+v", in.Attempts, r.delivered(), s)
	}
}

// A replica that learns that its summary was taken over ends it at once: a model is paid
// for one, and what it hands back is its own.
func TestLostSummaryIsEnded(t *testing.T) {
	t.Parallel()
	r := newHeldRig(t)
	lost, drain := r.takenOver()
	lost.gone.Store(false)
	r.until("the first one gives up", func() bool { return r.held.Load() == 1 })
	r.must(<-drain())
	if in := r.inbound("c1"); in.State != models.InboundRunning || in.Attempts != 1 {
		t.Errorf("the command is %s after %d attempts", in.State, in.Attempts)
	}
	r.let()
	r.ends("c1", models.InboundDone)
}

// renewing is a store that knows how many commands were renewed at once.
type renewing struct {
	store.Store

	most atomic.Int64
}

func (w *renewing) RenewCommands(ctx context.Context, ids []string, c store.ClaimRequest) ([]string, error) {
	w.most.Store(max(w.most.Load(), int64(len(ids))))
	return w.Store.RenewCommands(ctx, ids, c)
}

// However many summaries are made or wait, what keeps them is one look a second.
func TestSummariesAreKeptTogether(t *testing.T) {
	t.Parallel()
	const people = 20 // more than are made at once
	r := newHeldRig(t)
	counted := &renewing{Store: r.store}
	r.store = counted
	r.start()
	for p := range people {
		name := fmt.Sprint("person", p)
		for turn := range 4 {
			r.say(whisper(fmt.Sprint(name, turn), name, long(turn)))
			r.ends(fmt.Sprint(name, turn), models.InboundDone)
		}
		r.say(whisper("compact"+name, name, "/compact"))
	}
	r.until("all are renewed together", func() bool { return counted.most.Load() == people })
	r.let()
	for p := range people {
		r.ends(fmt.Sprint("compactperson", p), models.InboundDone)
	}
}

// Who asks while a summary is being made elsewhere learns that.
func TestSummaryIsBusyOnAllReplicas(t *testing.T) {
	t.Parallel()
	r := newHeldRig(t)
	drain := r.run()
	defer func() { r.must(<-drain()) }()
	r.asksForASummary()
	r.config.Owner = "another replica"
	r.start()
	r.says("c2", "/compact")
	if in := r.inbound("c2"); in.Reply.Content != text.Say(text.English, text.CompactBusy) {
		t.Errorf("reply %q", in.Reply.Content)
	}
	r.says("c3", "/stop")
}
