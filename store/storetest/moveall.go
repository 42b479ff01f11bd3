package storetest

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// notMoved are the tables in which a session that was moved may leave something behind.
var notMoved = []string{
	"lanes",    // the old key's place, for whoever writes to it again
	"erasures", // what was deleted there
}

// fill makes a session with rows in every table that names sessions.
func (f *fixture) fill(key string) {
	f.Helper()
	turn := f.start(key)
	f.ok(f.putResult(turn, "res_1", "whole", f.now))
	f.ok(f.SavePreview(f.ctx, turn.Claim, f.preview(turn)))
	f.commit(f.answer(turn, "one", deliver(f.parts(turn, "oc_1", 2)...), costs("api/default/lin", "m", 10, 1)))
	f.sendAll()
	f.summed()
	f.hold(key)
	f.slot(key, "aside", "old")
	f.reset(key, "aside")
	f.notebook(key, "kept")
	f.waiting(key, kind(models.KindObserved))
	f.movedRun(key)
}

// Every table that names the session by its key, or by what is made of it, names the
// new one afterwards. A table that is new is found in the schema: have fill write to it,
// and the move take it along.
func moveEverything(f *fixture) {
	if f.options.Tables == nil {
		return
	}
	from, to := f.key()+"/from", f.key()
	f.fill(from)
	var sid []byte
	tables := func() map[string]Table {
		tb, ok := f.reporter.(testing.TB)
		if !ok {
			f.Fatalf("no test reads the tables")
		}
		return f.options.Tables(tb, f.Store)
	}
	before := tables()
	lanes := before["lanes"]
	for _, row := range lanes.Rows {
		if string(row[slices.Index(lanes.Columns, "session_key")]) == from {
			sid = row[slices.Index(lanes.Columns, "sid")]
		}
	}
	if len(sid) == 0 {
		f.Fatalf("the session has no lane")
	}
	names := func(t Table) bool {
		return slices.ContainsFunc(slices.Concat(t.Rows...), func(v []byte) bool {
			return bytes.Contains(v, []byte(from)) || bytes.Equal(v, sid)
		})
	}
	for name, table := range before {
		for _, column := range table.Columns {
			if (column == "sid" || strings.Contains(column, "session_key")) && !names(table) {
				f.Fatalf("nothing of the session is in %s, which has a column %s", name, column)
			}
		}
	}
	f.ok(f.MoveSession(f.ctx, from, f.to(to), false))
	for name, table := range tables() {
		if names(table) && !slices.Contains(notMoved, name) {
			f.Fatalf("%s still names the old key", name)
		}
	}
}

func moveUsage(f *fixture) {
	from, to, today := f.key(), f.key(), store.DayOf(f.now)
	turn := func(text string) {
		f.commit(f.answer(f.start(from), text, costs("api/default/lin", "m", 100, 10)))
	}
	turn("summed up")
	f.summed()
	turn("not summed up")
	f.accept(f.message(to, kind(models.KindIgnored))) // somebody was there
	f.ok(f.AddUsage(f.ctx, []store.UsageEntry{{Day: 20261130, SessionKey: to, Model: "m", UsageCount: store.UsageCount{PromptTokens: 5}}}, nil))
	at := func(key string, day int) store.Budget {
		return store.Budget{Day: day, Kind: store.BudgetSession, Subject: key}
	}
	tomorrow := store.DayOf(f.at(24 * time.Hour))
	f.ok(f.AddUsage(f.ctx, nil, []store.Spending{
		{Budget: at(from, today), Tokens: 70}, {Budget: at(from, tomorrow), Tokens: 8}, {Budget: at(to, today), Tokens: 1},
	}))
	_, err := f.AllowMore(f.ctx, at(from, today), 500)
	f.ok(err)
	run, held := f.movedRun(from), f.hold(from)

	f.ok(f.MoveSession(f.ctx, from, f.to(to), false))
	f.summed()
	equal(f, "usage", f.totals(store.BySession), []string{to + " 205+20 in 2, 0 failed"})
	equal(f, "by day", f.totals(store.ByDay), []string{"20261130 205+20 in 2, 0 failed"})
	equal(f, "budgets", f.spent(at(to, today), at(to, tomorrow), at(from, today), at(from, tomorrow)),
		[]store.Spent{{Tokens: 71, Extra: 500}, {Tokens: 8}, {}, {}})
	equal(f, "the run's session", f.onlyRun(run).SessionKey, to)
	call := f.approval(held.Code)
	equal(f, "whose call it is", [...]string{call.SessionKey, call.AgentID}, [...]string{to, "other"})
}

// movedRun is a run of a task in a session, which has ended; it returns the task's id.
func (f *fixture) movedRun(key string) string {
	f.Helper()
	task := f.task(f.at(-time.Second))
	x := NewFiring(task, f.at(time.Hour), f.now)
	x.Run.SessionKey, x.Message.Inbound.SessionKey = key, key
	f.fire(x)
	f.commit(f.answer(f.begin(f.claimLane(claim())), "of a task"))
	return task.ID
}

// What another session sends into a chat, and what may be sent once more, is remembered
// in the chat's session, wherever that is by then.
func moveUnsent(f *fixture) {
	from, to, task := f.key()+`"<1>`, f.key()+`"<2>`, f.key() // written by us and by the database, which escape differently
	f.create(from, "before")
	dead := NewDelivery(from, "oc_1", "at the second try", f.now)
	_, err := f.Enqueue(f.ctx, []*models.Delivery{dead}, store.Once{}, f.newSession(from))
	f.ok(err)
	c := f.claimTarget(claim())
	result := f.sent(f.next(c))
	result.State = models.DeliveryDead
	_, err = f.FinishDelivery(f.ctx, c, result)
	f.ok(err)
	turn := f.start(task)
	commit := f.answer(turn, "of a task", deliver(f.parts(turn, "oc_2", 1)...))
	commit.Remember = f.newSession(from)
	f.commit(commit)

	f.ok(f.MoveSession(f.ctx, from, f.to(to), false))
	got, err := f.Delivery(f.ctx, dead.ID)
	f.ok(err)
	equal(f, "the delivery's session", got.SessionKey, to)
	third := f.key()
	f.ok(f.MoveSession(f.ctx, to, f.to(third), false)) // what the database wrote is found as well
	f.sendAll()
	_, err = f.RetryDelivery(f.ctx, dead.ID, f.now)
	f.ok(err)
	f.sendAll()
	equal(f, "history", f.history(third, models.DefaultSlot), []string{"before", "part 1", "at the second try"})
	for _, key := range []string{from, to} {
		_, err = f.Session(f.ctx, key)
		f.fails(err, store.ErrNotFound)
	}
}
