package lane_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/gateway/lane"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/memstore"
	"github.com/chatkeep/chatkeep/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a pool over a store in memory.
type bench struct {
	t     *testing.T
	cfg   lane.Config
	store store.Store
	lanes store.Lanes
	pool  *lane.Pool
	stop  func()

	mu   sync.Mutex
	most map[string]int // turns at once: by session, and of all under ""
	now  map[string]int
	ran  []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, store: memstore.New(), most: map[string]int{}, now: map[string]int{}, stop: func() {}}
	b.cfg = lane.Config{
		Owner: "replica", Lease: 2 * time.Second, Workers: 8, Poll: 10 * time.Millisecond, Grace: 5 * time.Second,
		Merge: func() store.MergeRule { return store.MergeRule{} },
	}
	b.lanes = b.store
	t.Cleanup(func() {
		b.stop()
		if err := b.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// start runs the pool; a turn does what do says and is committed unless that fails.
func (b *bench) start(do func(ctx context.Context, text string) error) {
	b.pool = lane.New(b.cfg, b.lanes, clock.Real(), slog.New(slog.DiscardHandler), func(ctx context.Context, turn *store.Turn) (*store.Claim, error) {
		key, text := turn.Inbounds[0].SessionKey, turn.Inbounds[0].PlatformMessageID
		b.enter(key)
		b.enter("")
		defer b.leave(key, text)
		if err := do(ctx, text); err != nil {
			return nil, err
		}
		commit := storetest.NewAnswer(turn, text, time.Now())
		commit.Keep = b.pool.Keep()
		committed, err := b.store.CommitTurn(context.WithoutCancel(ctx), commit)
		if err != nil {
			return nil, err
		}
		return committed.Kept, nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		b.pool.Run(ctx)
		close(done)
	}()
	b.stop = func() {
		cancel()
		<-done
	}
}

func (b *bench) enter(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now[key]++
	b.most[key] = max(b.most[key], b.now[key])
}

func (b *bench) leave(key, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now[key]--
	b.now[""]--
	b.ran = append(b.ran, text)
}

func (b *bench) turns() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.ran)
}

func session(n int) string {
	return fmt.Sprintf("agent:a:channel:any:scope:per_peer:chat/main/u%d", n)
}

// say stores a message and returns its id.
func (b *bench) say(key, text string) string {
	b.t.Helper()
	r := storetest.NewMessage(key, time.Now())
	r.Inbound.PlatformMessageID = text
	accepted, err := b.store.Accept(context.Background(), r)
	if err != nil {
		b.t.Fatal(err)
	}
	b.pool.Nudge()
	return accepted.Inbound.ID
}

func (b *bench) state(id string) *models.Inbound {
	b.t.Helper()
	in, err := b.store.Inbound(context.Background(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return in
}

func (b *bench) done(id string) func() bool {
	return func() bool { return b.state(id).State == models.InboundDone }
}

func (b *bench) until(what string, condition func() bool) {
	b.t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline.C:
			b.t.Fatalf("waited in vain until %s", what)
		case <-tick.C:
		}
	}
}

func pause(ctx context.Context, d time.Duration) error { return clock.Sleep(ctx, clock.Real(), d) }

func TestOneTurnPerSessionInOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.Workers = 3
	b.start(func(ctx context.Context, _ string) error { return pause(ctx, 2*time.Millisecond) })
	var last []string
	want := map[int][]string{}
	for n := range 8 {
		for s := range 6 {
			text := fmt.Sprintf("s%d-%d", s, n)
			want[s] = append(want[s], text)
			id := b.say(session(s), text)
			if n == 7 {
				last = append(last, id)
			}
		}
	}
	for _, id := range last {
		b.until("all turns are done", b.done(id))
	}
	b.until("the lanes are idle", func() bool { return b.pool.Running() == 0 })
	for s, texts := range want {
		if n := b.most[session(s)]; n != 1 {
			t.Errorf("%d turns of one session at once", n)
		}
		var got []string
		for _, text := range b.turns() {
			if slices.Contains(texts, text) {
				got = append(got, text)
			}
		}
		if !slices.Equal(got, texts) {
			t.Errorf("order %v, want %v", got, texts)
		}
	}
	if n := b.most[""]; n > 3 || n < 2 {
		t.Errorf("%d turns at once by 3 workers", n)
	}
}

func TestFailedCommitIsHandedBackWithoutCounting(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var tries int
	b.start(func(context.Context, string) error {
		if tries++; tries == 1 {
			return store.ErrUnavailable
		}
		return nil
	})
	id := b.say(session(1), "hello")
	b.until("it runs again", b.done(id))
	if in := b.state(id); in.Attempts != 0 {
		t.Errorf("%d attempts", in.Attempts)
	}
}

func TestTurnThatFailsForGoodCostsAnAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.Lease = 500 * time.Millisecond
	var tries int
	b.start(func(context.Context, string) error {
		if tries++; tries == 1 {
			return store.ErrInvalid
		}
		return nil
	})
	id := b.say(session(1), "hello")
	b.until("it runs again after its lease", b.done(id))
	if in := b.state(id); in.Attempts != 1 {
		t.Errorf("%d attempts", in.Attempts)
	}
}

// asking looks on while due lanes are claimed.
type asking struct {
	store.Lanes
	meanwhile func()
}

func (a asking) ClaimLanes(ctx context.Context, c store.ClaimRequest, limit int) ([]store.Claim, error) {
	a.meanwhile()
	return a.Lanes.ClaimLanes(ctx, c, limit)
}

func TestClaimingLeavesWorkersFree(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	free := make(chan bool, 1)
	b.lanes = asking{b.store, func() {
		reserved := b.pool.Reserve()
		if reserved {
			b.pool.Unreserve()
		}
		select {
		case free <- reserved:
		default:
		}
	}}
	b.start(func(context.Context, string) error { return nil })
	if !<-free {
		t.Error("while due lanes are looked for nobody finds a worker")
	}
}

func TestCutEndsTheGrace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.Grace = time.Hour
	b.start(func(ctx context.Context, _ string) error {
		<-ctx.Done()
		return ctx.Err() // not the cause: the pool knows it
	})
	id := b.say(session(1), "hello")
	b.until("it runs", func() bool { return b.pool.Running() == 1 })
	go b.pool.Cut()
	b.stop()
	if in := b.state(id); in.State != models.InboundReceived || in.Attempts != 0 {
		t.Errorf("%s after %d attempts", in.State, in.Attempts)
	}
}

func TestPanicCostsAnAttemptAndNoWorker(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.Workers, b.cfg.Lease = 1, 500*time.Millisecond
	var tries int
	b.start(func(context.Context, string) error {
		if tries++; tries == 1 {
			panic("handler")
		}
		return nil
	})
	id := b.say(session(1), "hello")
	b.until("it runs again after its lease", b.done(id))
	if in := b.state(id); in.Attempts != 1 {
		t.Errorf("%d attempts", in.Attempts)
	}
}

func TestStopCancelsTheTurnsOfAMessage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	cause := make(chan error, 2)
	b.start(func(ctx context.Context, text string) error {
		if text != "endless" {
			return nil
		}
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return context.Cause(ctx)
	})
	for _, remote := range []bool{false, true} {
		key := session(map[bool]int{false: 1, true: 2}[remote])
		id := b.say(key, "endless")
		b.until("it runs", func() bool { return b.state(id).State == models.InboundRunning })
		err := b.store.ChangeSession(context.Background(), key, func(tx store.SessionTx) error {
			return tx.Finish([]string{id}, store.Outcome{State: models.InboundCancelled}, time.Now())
		})
		if err != nil {
			t.Fatal(err)
		}
		if !remote { // else the pool has to find out by itself
			b.pool.Stop(id)
		}
		select {
		case err := <-cause:
			if !errors.Is(err, store.ErrStopped) {
				t.Errorf("cause %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the turn goes on")
		}
		b.until("the next message of the session is answered", b.done(b.say(key, "next")))
	}
}

// thief makes every renewal say that the lanes are somebody else's by now.
type thief struct{ store.Lanes }

func (thief) RenewLanes(_ context.Context, claims []store.Claim, _ time.Duration) ([]store.Claim, error) {
	return claims, nil
}

func TestLostLeaseCancelsItsTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.Lease = 300 * time.Millisecond
	b.lanes = thief{b.store}
	cause := make(chan error, 100)
	b.start(func(ctx context.Context, _ string) error {
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return context.Cause(ctx)
	})
	b.say(session(1), "hello")
	select {
	case err := <-cause:
		if !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("cause %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the turn goes on without a lease")
	}
}

func TestDrainEndsWithTheGrace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.Grace = 50 * time.Millisecond
	cause := make(chan error, 1)
	b.start(func(ctx context.Context, _ string) error {
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return context.Cause(ctx)
	})
	id := b.say(session(1), "endless")
	b.until("it runs", func() bool { return b.state(id).State == models.InboundRunning })
	b.stop()
	if err := <-cause; !errors.Is(err, lane.ErrShutdown) {
		t.Errorf("cause %v", err)
	}
	if in := b.state(id); in.State != models.InboundReceived || in.Attempts != 0 {
		t.Errorf("the message is %s after %d attempts, not handed back", in.State, in.Attempts)
	}
	if b.pool.Reserve() {
		t.Error("a drained pool gives a worker away")
	}
	if b.pool.Keep() != 0 {
		t.Error("a drained pool keeps lanes")
	}
}

func TestOnlyOneSessionIsServed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.Only = session(1)
	b.start(func(context.Context, string) error { return nil })
	other := b.say(session(2), "other")
	b.until("its own message is answered", b.done(b.say(session(1), "own")))
	if in := b.state(other); in.State != models.InboundReceived {
		t.Errorf("another session's message is %s", in.State)
	}
}
