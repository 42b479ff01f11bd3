package gormstore_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/storetest"
)

// between does something once, before a statement of a marked call.
type between struct {
	text string
	do   func()
	once sync.Once
}

type markedCall struct{}

// Statement does it.
func (b *between) Statement(ctx context.Context, sql string) error {
	if ctx.Value(markedCall{}) != nil && strings.Contains(sql, b.text) {
		b.once.Do(b.do)
	}
	return nil
}

func (*between) Commit(context.Context) error    { return nil }
func (*between) Committed(context.Context) error { return nil }

// A session that is moved after a delivery saw where it is remembered, and before it
// locked that place, gets the text all the same.
func TestDeliveryIsRememberedWhereItsSessionWasMoved(t *testing.T) {
	ctx, now := t.Context(), clock.Real().Now()
	cfg := newMySQL(t).config()
	hook := &between{text: "INSERT INTO lanes"}
	cfg.Observer = hook
	s := open(t, cfg)
	from, to := storetest.NewSession("agent:a:from", now), storetest.NewSession("agent:a:to", now)
	if err := s.CreateSession(ctx, from); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Accept(ctx, storetest.NewMessage("agent:a:task", now)); err != nil {
		t.Fatal(err)
	}
	claims, err := s.ClaimLanes(ctx, store.ClaimRequest{Owner: "r", Lease: time.Minute}, 1)
	if err != nil || len(claims) != 1 {
		t.Fatal(claims, err)
	}
	turn, err := s.BeginTurn(ctx, claims[0], store.MergeRule{})
	if err != nil {
		t.Fatal(err)
	}
	commit := storetest.NewAnswer(turn, "of a task", now)
	commit.Deliveries, commit.Remember = storetest.NewParts(turn, "oc_1", 1, now), from
	if _, err := s.CommitTurn(ctx, commit); err != nil {
		t.Fatal(err)
	}
	targets, err := s.ClaimTargets(ctx, store.ClaimRequest{Owner: "r", Lease: time.Minute}, 1)
	if err != nil || len(targets) != 1 {
		t.Fatal(targets, err)
	}
	d, err := s.NextDelivery(ctx, targets[0], now)
	if err != nil {
		t.Fatal(err)
	}
	hook.do = func() {
		if err := s.MoveSession(ctx, from.Key, to, false); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.FinishDelivery(context.WithValue(ctx, markedCall{}, true), targets[0],
		store.DeliveryResult{ID: d.ID, State: models.DeliveryDelivered, CountAttempt: true, Now: now}); err != nil {
		t.Fatal(err)
	}
	said, err := s.Messages(ctx, to.Key, models.DefaultSlot, 0, 10)
	if err != nil || len(said) != 1 || said[0].Content != d.Text {
		t.Errorf("%d messages, %v", len(said), err)
	}
	if _, err := s.Session(ctx, from.Key); err == nil {
		t.Error("there is a session under the old key")
	}
}
