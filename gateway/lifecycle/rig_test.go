package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/gateway/lifecycle"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
	"github.com/chatkeep/chatkeep/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	day      = 24 * time.Hour
	patience = 30 * time.Second
)

var start = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// rig is a runner over a store in memory, under a clock that stands still.
type rig struct {
	t        *testing.T
	clock    *clock.Fake
	store    store.Store
	settings lifecycle.Settings
	slots    []lifecycle.SlotJob
	serial   atomic.Int64
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, clock: clock.NewFake(start)}
	s, err := gormstore.Open(t.Context(), gormstore.Config{Driver: gormstore.SQLite, DSN: gormstore.Memory, Migrate: true, Clock: r.clock})
	if err != nil {
		t.Fatal(err)
	}
	r.store = s
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	r.settings = lifecycle.Settings{
		Schedules: map[string]string{}, Location: time.UTC,
		IdleTimeout: time.Hour, ArchiveAfter: 30 * day, TTL: 365 * day,
	}
	return r
}

// runner returns a replica's runner that does not run by itself.
func (r *rig) runner(owner string) *lifecycle.Runner {
	return lifecycle.New(lifecycle.Config{Owner: owner, Lease: 10 * time.Second}, r.settings, r.store, r.slots, r.clock, nil, slog.New(slog.DiscardHandler))
}

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) key() string {
	return fmt.Sprintf("agent:assistant:channel:any:scope:per_peer:api/default/peer-%d", r.serial.Add(1))
}

// used makes a session that a person used so long ago.
func (r *rig) used(ago time.Duration) string {
	r.t.Helper()
	key := r.key()
	s := storetest.NewSession(key, r.clock.Now().Add(-ago))
	s.LastUserAt = s.CreatedAt
	r.ok(r.store.CreateSession(r.t.Context(), s))
	return key
}

// says has a person say something and an agent answer it.
func (r *rig) says(key string) {
	r.t.Helper()
	ctx := r.t.Context()
	request := storetest.NewMessage(key, r.clock.Now())
	request.Claim = &store.ClaimRequest{Owner: "replica", Lease: time.Minute}
	a, err := r.store.Accept(ctx, request)
	r.ok(err)
	_, err = r.store.CommitTurn(ctx, &store.TurnCommit{
		Claim: *a.Claim, Session: *storetest.NewSession(key, r.clock.Now()), Inbounds: []*models.Inbound{a.Inbound},
		Outcome: store.Outcome{State: models.InboundDone}, Slot: models.DefaultSlot,
		Messages: []*models.SessionMessage{message(models.RoleUser, r.clock.Now()), message(models.RoleAssistant, r.clock.Now())},
		UserAt:   r.clock.Now(), Now: r.clock.Now(),
	})
	r.ok(err)
}

func message(role models.Role, at time.Time) *models.SessionMessage {
	return &models.SessionMessage{ID: models.NewMessageID(at), Role: role, Content: "text", TokenCount: 1, CreatedAt: at}
}

func (r *rig) state(key string) models.SessionState {
	r.t.Helper()
	s, err := r.store.Session(r.t.Context(), key)
	if errors.Is(err, store.ErrNotFound) {
		return "gone"
	}
	r.ok(err)
	return s.State
}

func (r *rig) wants(key string, want models.SessionState) {
	r.t.Helper()
	if got := r.state(key); got != want {
		r.t.Errorf("%v after the start it is %s, want %s", r.clock.Now().Sub(start), got, want)
	}
}

// run runs a runner until the returned function is called.
func run(runner *lifecycle.Runner) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		runner.Run(ctx)
		close(done)
	}()
	return func() {
		cancel()
		<-done
	}
}

// until waits for a condition.
func (r *rig) until(what string, condition func() bool) {
	r.t.Helper()
	deadline := clock.Real().Now().Add(patience)
	for !condition() {
		if clock.Real().Now().After(deadline) {
			r.t.Fatalf("%s: not within %v", what, patience)
		}
		_ = clock.Sleep(r.t.Context(), clock.Real(), 2*time.Millisecond)
	}
}

// now runs a job.
func (r *rig) now(runner *lifecycle.Runner, name string) *lifecycle.Report {
	r.t.Helper()
	report, err := runner.RunNow(r.t.Context(), name, false)
	r.ok(err)
	return report
}
