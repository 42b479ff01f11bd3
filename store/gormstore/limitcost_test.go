package gormstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
	"github.com/chatkeep/chatkeep/store/storetest"
)

// limits is everything that can be limited, of one person's message in a session.
func limits(person int, key string) (func(*store.AcceptRequest), func(*store.TurnCommit)) {
	user := fmt.Sprintf("feishu/main/ou_%d", person)
	today := store.DayOf(clock.Real().Now())
	return func(r *store.AcceptRequest) { r.Rate = &store.Rate{Key: user, Most: 1 << 30, Window: time.Minute} },
		func(c *store.TurnCommit) {
			for kind, subject := range map[store.BudgetKind]string{
				store.BudgetUser: user, store.BudgetSession: key, store.BudgetChat: key, store.BudgetAgent: "assistant",
			} {
				c.Spend = append(c.Spend, store.Spending{Budget: store.Budget{Day: today, Kind: kind, Subject: subject}, Tokens: 1290})
			}
		}
}

// Limits that are on cost the accept one statement, and the turn one.
func TestLimitsCostAStatementEach(t *testing.T) {
	eachMigrated(t, func(t *testing.T, cfg gormstore.Config) {
		s, c := counted(t, cfg)
		const key = "agent:a"
		rated, spending := limits(1, key)
		cost := func(do func() error) int64 {
			t.Helper()
			c.reset()
			if err := do(); err != nil {
				t.Fatal(err)
			}
			return c.statements.Load()
		}
		for i := range 3 {
			var turn *store.Turn
			var err error
			plain := cost(func() error { turn, err = acceptTurn(t.Context(), s, key); return err })
			committed := cost(func() error { return commitTurn(t.Context(), s, turn) })
			bare := cost(func() error { turn, err = acceptTurn(t.Context(), s, key); return err })
			if n := cost(func() error { return commitTurn(t.Context(), s, turn, func(c *store.TurnCommit) { c.Usage = nil }) }); i > 0 && n != committed {
				t.Errorf("a turn takes %d statements, %d without its usage", committed, n)
			}
			if n := cost(func() error { turn, err = acceptTurn(t.Context(), s, key, rated); return err }); n != plain+1 || bare != plain {
				t.Errorf("accept takes %d statements, %d with a rate", plain, n)
			}
			if n := cost(func() error { return commitTurn(t.Context(), s, turn, spending) }); i > 0 && n != committed+1 {
				t.Errorf("a turn takes %d statements, %d with budgets", committed, n)
			}
		}
	})
}

// BenchmarkTurnAccounting compares accept and commit in pairs of slices: with the turn's
// usage and without, and with limits and without.
func BenchmarkTurnAccounting(b *testing.B) {
	for _, cfg := range benchDatabases(b) {
		s, _ := counted(b, cfg)
		makeSessions(b, s, benchSessions)
		cycle := func(accept func(i int) []func(*store.AcceptRequest), commit func(i int) []func(*store.TurnCommit)) func(i int) error {
			return func(i int) error {
				i %= benchSessions
				turn, err := acceptTurn(b.Context(), s, benchKey(i), accept(i)...)
				if err != nil {
					return err
				}
				return commitTurn(b.Context(), s, turn, commit(i)...)
			}
		}
		noAccept := func(int) []func(*store.AcceptRequest) { return nil }
		withUsage := cycle(noAccept, func(int) []func(*store.TurnCommit) { return nil })
		without := cycle(noAccept, func(int) []func(*store.TurnCommit) {
			return []func(*store.TurnCommit){func(c *store.TurnCommit) { c.Usage = nil }}
		})
		limited := cycle(func(i int) []func(*store.AcceptRequest) {
			rated, _ := limits(i, benchKey(i))
			return []func(*store.AcceptRequest){rated}
		}, func(i int) []func(*store.TurnCommit) {
			_, spending := limits(i, benchKey(i))
			return []func(*store.TurnCommit){spending}
		})
		for _, c := range []struct {
			name       string
			base, with func(i int) error
		}{{"usage", without, withUsage}, {"limits", withUsage, limited}} {
			for _, n := range []int{1, 8} {
				b.Run(fmt.Sprintf("db=%s/%s/writers=%d", cfg.Driver, c.name, n), func(b *testing.B) {
					p := compare(b, n, max(b.N, minPairs), c.base, c.with)
					b.ReportMetric(p.raw, "base-ops/s")
					b.ReportMetric(p.store, "with-ops/s")
					b.ReportMetric(p.ratio, "ratio")
					b.ReportMetric(0, "ns/op") // of a slice: says nothing
				})
			}
		}
	}
}

// No statement about access, rates, budgets and usage reads a whole table on SQLite.
func TestSQLitePlansOfLimits(t *testing.T) {
	d := newSQLite(t)
	cfg := d.config(d.file(t))
	seen := &texts{all: map[string]bool{}}
	cfg.Observer = seen
	s := open(t, cfg)
	ctx, now := t.Context(), clock.Real().Now()
	clear(seen.all)
	rated, spending := limits(1, "agent:a")
	turn, err := acceptTurn(ctx, s, "agent:a", rated)
	if err == nil {
		err = commitTurn(ctx, s, turn, spending)
	}
	grant := &models.AccessGrant{
		ID: "acc_1", Code: "P-1", State: models.AccessPending, RequestedAt: now, ExpiresAt: now.Add(time.Hour),
		AccessSubject: models.AccessSubject{Channel: "feishu", Account: "main", Kind: models.AccessUser, SubjectID: "ou_1"},
	}
	query := store.AccessQuery{State: models.AccessPending, Channel: "feishu", Account: "main", Now: now}
	for i, step := range []func() error{
		func() error { return err },
		func() error { _, _, err := s.RequestAccess(ctx, grant, 10); return err },
		func() error { _, err := s.Approved(ctx, []models.AccessSubject{grant.AccessSubject}); return err },
		func() error { _, _, err := s.ListAccess(ctx, query); return err },
		func() error { _, _, err := s.ListAccess(ctx, store.AccessQuery{}); return err },
		func() error {
			_, err := s.DecideAccess(ctx, store.AccessDecision{Code: "P-1", State: models.AccessApproved, By: "admin", Now: now})
			return err
		},
		func() error { _, err := s.RemoveAccess(ctx, "acc_1"); return err },
		func() error {
			_, err := s.TellOnce(ctx, "key", now, now.Add(time.Hour), []*models.Delivery{storetest.NewDelivery("", "oc_1", "text", now)})
			return err
		},
		func() error { _, err := s.SumUsage(ctx, 10); return err },
		func() error {
			_, err := s.Spent(ctx, []store.Budget{{Day: 1, Kind: store.BudgetUser, Subject: "u"}})
			return err
		},
		func() error {
			_, err := s.UsageTotals(ctx, store.UsageQuery{By: store.ByUser, From: 1, To: 30000000, Model: "m"})
			return err
		},
		func() error {
			_, err := s.Sweep(ctx, now.Add(1000*time.Hour), store.Retention{Usage: time.Hour}, 10)
			return err
		},
	} {
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	db := sqlOpen(t, "sqlite", cfg.DSN)
	for text := range seen.all {
		for _, line := range plan(t, db, text) {
			sorts := strings.Contains(line, "USE TEMP B-TREE FOR ORDER BY") && !strings.Contains(text, "GROUP BY")
			if (wholeTable(line) || sorts) && (strings.Contains(text, "access_grants") || strings.Contains(text, "rates") ||
				strings.Contains(text, "budgets") || strings.Contains(text, "notices") || strings.Contains(text, "usage_totals") || strings.Contains(text, "costs")) {
				t.Errorf("%s\n\t%s", line, text)
			}
		}
	}
}
