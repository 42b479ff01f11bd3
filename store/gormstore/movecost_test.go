package gormstore_test

import (
	"testing"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/storetest"
)

// A move takes a bounded number of statements, and none of them reads a whole table.
func TestSQLitePlansOfAMove(t *testing.T) {
	const most = 40
	d := newSQLite(t)
	cfg := d.config(d.file(t))
	seen := &texts{all: map[string]bool{}}
	cfg.Observer = seen
	s := open(t, cfg)
	ctx, now := t.Context(), clock.Real().Now()
	from, to := storetest.NewSession("agent:a:from", now), storetest.NewSession("agent:a:to", now)
	if err := s.CreateSession(ctx, from); err != nil {
		t.Fatal(err)
	}
	dead := storetest.NewDelivery("agent:a:task", "oc_1", "text", now)
	if _, err := s.Enqueue(ctx, []*models.Delivery{dead}, store.Once{}, from); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CloseTarget(ctx, dead.Channel, dead.Account, dead.Target, "gone", now); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AllowMore(ctx, store.Budget{Day: store.DayOf(now), Kind: store.BudgetSession, Subject: from.Key}, 1); err != nil {
		t.Fatal(err)
	}
	clear(seen.all)
	if err := s.MoveSession(ctx, from.Key, to, false); err != nil {
		t.Fatal(err)
	}
	if n := len(seen.all); n == 0 || n > most {
		t.Errorf("%d statements, want at most %d", n, most)
	}
	db := sqlOpen(t, "sqlite", cfg.DSN)
	for text := range seen.all {
		for _, line := range plan(t, db, text) {
			if wholeTable(line) && line != "SCAN some" { // of what an index found
				t.Errorf("%s\n\t%s", line, text)
			}
		}
	}
}
