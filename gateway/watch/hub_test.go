package watch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/gateway/watch"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// inbox is what is stored of messages, whoever brought it about.
type inbox struct {
	mu      sync.Mutex
	rows    map[string]*models.Inbound
	queries int
	down    error
}

func (i *inbox) put(id string, state models.InboundState) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.rows[id] = &models.Inbound{ID: id, State: state, Reply: &models.Reply{Content: "answer to " + id}}
}

func (i *inbox) InboundBatch(_ context.Context, ids []string) ([]*models.Inbound, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.queries++
	if i.down != nil || len(ids) > 1000 {
		return nil, errors.Join(i.down, fmt.Errorf("%d ids", len(ids)))
	}
	var out []*models.Inbound
	for _, id := range ids {
		if row := i.rows[id]; row != nil {
			out = append(out, row)
		}
	}
	return out, nil
}

func (i *inbox) Inbound(_ context.Context, id string) (*models.Inbound, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if row := i.rows[id]; row != nil {
		return row, nil
	}
	return nil, store.ErrNotFound
}

// scene is a hub at work in a bubble of its own.
type scene struct {
	t     *testing.T
	hub   *watch.Hub
	inbox *inbox
}

func play(t *testing.T, act func(*scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, inbox: &inbox{rows: map[string]*models.Inbound{}}}
		s.hub = watch.NewHub(s.inbox, clock.Real(), slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { s.hub.Run(ctx) })
		act(s)
		cancel()
		running.Wait()
	})
}

func next(t *testing.T, w *watch.Watcher) watch.Update {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	u, err := w.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestWatcherFollowsTheAnswer(t *testing.T) {
	play(t, func(s *scene) {
		w := s.hub.Watch("m")
		defer w.Close()
		s.hub.Emit("m", agents.Event{Delta: "one "})
		s.hub.Emit("m", agents.Event{Delta: "two"})
		if u := next(s.t, w); u.Delta != "one two" || u.Restart {
			s.t.Errorf("first %+v", u)
		}
		s.hub.Emit("m", agents.Event{Tool: &agents.ToolEvent{Name: "clock", Phase: agents.ToolStarted}})
		s.hub.Emit("m", agents.Event{Delta: ", three"})
		if u := next(s.t, w); u.Delta != ", three" || len(u.Tools) != 1 || u.Tools[0].Name != "clock" {
			s.t.Errorf("then %+v", u)
		}
		s.hub.Emit("m", agents.Event{Restart: true})
		s.hub.Emit("m", agents.Event{Delta: "afresh"})
		if u := next(s.t, w); !u.Restart || u.Delta != "afresh" {
			s.t.Errorf("after a restart %+v", u)
		}
		s.hub.Emit("m", agents.Event{Delta: "."})
		s.inbox.put("m", models.InboundDone)
		s.hub.Done(s.inbox.rows["m"])
		if u := next(s.t, w); u.Delta != "." || u.Done != nil {
			s.t.Errorf("the outcome came before the last text: %+v", u)
		}
		if u := next(s.t, w); u.Done == nil {
			s.t.Errorf("no outcome: %+v", u)
		}
	})
}

func TestRestartOfNothingIsNotShown(t *testing.T) {
	play(t, func(s *scene) {
		w := s.hub.Watch("m")
		defer w.Close()
		s.hub.Emit("m", agents.Event{Restart: true})
		s.hub.Emit("m", agents.Event{Delta: "one"})
		if u := next(s.t, w); u.Restart || u.Delta != "one" {
			s.t.Errorf("%+v", u)
		}
	})
}

func TestOutcomeOfAnotherReplica(t *testing.T) {
	play(t, func(s *scene) {
		s.inbox.put("m", models.InboundRunning)
		w := s.hub.Watch("m")
		defer w.Close()
		began := time.Now()
		go func() {
			time.Sleep(3 * time.Second)
			s.inbox.put("m", models.InboundDone)
		}()
		in, err := w.Wait(s.t.Context())
		if err != nil || in.Reply.Content != "answer to m" {
			s.t.Fatalf("%+v, %v", in, err)
		}
		if late := time.Since(began) - 3*time.Second; late > 200*time.Millisecond {
			s.t.Errorf("told %s after the outcome", late)
		}
	})
}

func TestOutcomeThatIsOvertakenByARetry(t *testing.T) {
	play(t, func(s *scene) {
		w := s.hub.Watch("m")
		defer w.Close()
		s.inbox.put("m", models.InboundFailed)
		s.hub.Done(s.inbox.rows["m"])
		s.inbox.put("m", models.InboundReceived)
		s.hub.Reopened("m")
		got := make(chan *models.Inbound, 1)
		go func() {
			in, _ := w.Wait(s.t.Context())
			got <- in
		}()
		time.Sleep(time.Second)
		select {
		case in := <-got:
			s.t.Fatalf("told the earlier outcome %s", in.State)
		default:
		}
		s.inbox.put("m", models.InboundDone)
		if in := <-got; in.State != models.InboundDone {
			s.t.Errorf("told %s", in.State)
		}
	})
}

func TestManyWaitersAreOneQuery(t *testing.T) {
	play(t, func(s *scene) {
		const waiters = 2500
		var told sync.WaitGroup
		for n := range waiters {
			w := s.hub.Watch(fmt.Sprint("m", n))
			told.Go(func() {
				defer w.Close()
				if _, err := w.Wait(s.t.Context()); err != nil {
					s.t.Error(err)
				}
			})
		}
		time.Sleep(time.Second)
		s.inbox.mu.Lock()
		queries := s.inbox.queries
		s.inbox.mu.Unlock()
		if queries > 5*3 { // five polls of three batches
			s.t.Errorf("%d queries in a second", queries)
		}
		for n := range waiters {
			s.inbox.put(fmt.Sprint("m", n), models.InboundDone)
		}
		told.Wait()
		s.inbox.mu.Lock()
		s.inbox.queries = 0
		s.inbox.mu.Unlock()
		time.Sleep(time.Second)
		if s.inbox.queries != 0 {
			s.t.Errorf("%d queries for nobody", s.inbox.queries)
		}
	})
}

func TestWaitingOutlivesAnOutage(t *testing.T) {
	play(t, func(s *scene) {
		s.inbox.down = store.ErrUnavailable
		w := s.hub.Watch("m")
		defer w.Close()
		go func() {
			time.Sleep(10 * time.Second)
			s.inbox.put("m", models.InboundDone)
			s.inbox.mu.Lock()
			defer s.inbox.mu.Unlock()
			s.inbox.down = nil
		}()
		if _, err := w.Wait(s.t.Context()); err != nil {
			s.t.Error(err)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	play(t, func(s *scene) {
		w := s.hub.Watch("m")
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
		defer cancel()
		if _, err := w.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			s.t.Errorf("error %v", err)
		}
		w.Close()
		w.Close() // twice does no harm
		s.hub.Emit("m", agents.Event{Delta: "to nobody"})
		late := s.hub.Watch("m")
		defer late.Close()
		s.hub.Emit("m", agents.Event{Delta: "x"})
		if u := next(s.t, late); u.Delta != "x" {
			s.t.Errorf("text was kept for nobody: %+v", u)
		}
	})
}

func TestWatchersOfOneMessageSeeTheSame(t *testing.T) {
	play(t, func(s *scene) {
		first, second := s.hub.Watch("m"), s.hub.Watch("m")
		defer second.Close()
		s.hub.Emit("m", agents.Event{Delta: "a"})
		next(s.t, first)
		first.Close()
		s.hub.Emit("m", agents.Event{Delta: "b"})
		if u := next(s.t, second); u.Delta != "ab" {
			s.t.Errorf("%+v", u)
		}
		if u := next(s.t, s.hub.Watch("m")); !slices.Equal([]string{u.Delta}, []string{"ab"}) {
			s.t.Errorf("a late watcher sees %+v", u)
		}
	})
}
