package storetest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func usageTests() []test {
	return []test{
		{"RateRefusesOneTooMany", rateRefuses},
		{"RateCountsTurnsOfOneKey", rateKeys},
		{"RateForgetsDuplicates", rateDuplicates},
		{"RateHoldsForRepeats", rateRepeats},
		{"RateHoldsAgainstMany", rateRace},
		{"TurnsAreSummed", usageSummed},
		{"FailuresAreKeptThroughRetries", usageRetried},
		{"CallsBesidesTurns", usageAdded},
		{"SummedOnceByMany", usageRace},
		{"WithAChange", usageOfAChange},
		{"DeletedWithTheSession", usageDeleted},
		{"OfADeletedSession", usageAfterDeletion},
		{"Swept", usageSwept},
		{"BudgetsAreSpent", budgetSpent},
		{"BudgetsOfManyAtOnce", budgetRace},
		{"MoreIsAllowed", budgetMore},
	}
}

func rate(key string, most int) func(*store.AcceptRequest) {
	return func(r *store.AcceptRequest) { r.Rate = &store.Rate{Key: key, Most: most, Window: time.Minute} }
}

func rateRefuses(f *fixture) {
	key := f.key()
	for range 2 {
		a := f.accept(f.message(key, rate("lin", 2)))
		equal(f, "limited", a.Limited, false)
	}
	f.drainLane(key)
	r := f.message(key, rate("lin", 2), claimed(claim()), received(f.at(59*time.Second)))
	a := f.accept(r)
	equal(f, "limited", [2]any{a.Limited, a.Claim == nil}, [2]any{true, true})
	in := f.inbound(r.Inbound.ID)
	equal(f, "outcome", [2]any{in.State, in.Code}, [2]any{models.InboundFailed, models.CodeRateLimited})
	if in.Error == "" || in.FinishedAt == nil {
		f.Fatalf("error %q, finished at %v", in.Error, in.FinishedAt)
	}
	f.noLane()
	f.change(key, func(tx store.SessionTx) error {
		last, err := tx.LastRetryable("api", "default", "lin")
		f.ok(err)
		equal(f, "retryable", last.ID, r.Inbound.ID)
		return tx.Requeue(last.ID, f.now)
	})
	f.state(models.InboundReceived, r.Inbound.ID)
	f.drainLane(key)
	a = f.accept(f.message(key, rate("lin", 2), received(f.at(time.Minute))))
	equal(f, "limited in the next window", a.Limited, false)
}

// drainLane answers everything that waits in a lane.
func (f *fixture) drainLane(key string) {
	f.Helper()
	turn := f.begin(f.claimLane(claim()))
	for {
		c := f.commit(f.answer(turn, "done", keep(time.Minute)))
		if c.Kept == nil {
			return
		}
		turn = f.begin(*c.Kept)
	}
}

func rateKeys(f *fixture) {
	key := f.key()
	f.accept(f.message(key, rate("lin", 1)))
	equal(f, "another person", f.accept(f.message(key, rate("wu", 1))).Limited, false)
	equal(f, "elsewhere", f.accept(f.message(f.key(), rate("lin", 1))).Limited, true)
	equal(f, "without", f.accept(f.message(key)).Limited, false)
}

func rateDuplicates(f *fixture) {
	key := f.key()
	r := f.message(key, rate("lin", 2))
	f.accept(r)
	for range 5 {
		repeat := f.message(key, dedup(r.DedupKeys...), rate("lin", 2))
		a, err := f.Accept(f.ctx, repeat)
		f.ok(err)
		equal(f, "duplicate", [2]bool{a.Duplicate, a.Limited}, [2]bool{true, false})
	}
	equal(f, "second message", f.accept(f.message(key, rate("lin", 2))).Limited, false)
}

func rateRepeats(f *fixture) {
	key := f.key()
	r := failed(f, key)
	f.accept(f.message(f.key(), rate("lin", 1)))
	repeat := again(f, r)
	repeat.Rate = &store.Rate{Key: "lin", Most: 1, Window: time.Minute}
	a, err := f.Accept(f.ctx, repeat)
	f.ok(err)
	equal(f, "repeat", [...]any{a.Duplicate, a.Limited, a.Inbound.State}, [...]any{true, true, models.InboundFailed})
	f.state(models.InboundFailed, r.Inbound.ID)
	repeat = again(f, r)
	repeat.Rate = &store.Rate{Key: "lin", Most: 1, Window: time.Minute}
	repeat.Inbound.ReceivedAt = f.at(time.Minute)
	a, err = f.Accept(f.ctx, repeat)
	f.ok(err)
	equal(f, "later", [2]any{a.Limited, a.Inbound.State}, [2]any{false, models.InboundReceived})
}

func rateRace(f *fixture) {
	var passed atomic.Int64
	keys := make([]string, 12)
	for i := range keys {
		keys[i] = f.key()
	}
	race(len(keys), func(i int) {
		a, err := f.Accept(f.ctx, f.message(keys[i], rate("lin", 5)))
		f.ok(err)
		if !a.Limited {
			passed.Add(1)
		}
	})
	equal(f, "passed", passed.Load(), 5)
}

const today = 20261130

func costs(user, model string, prompt, completion int64) func(*store.TurnCommit) {
	return func(c *store.TurnCommit) {
		c.Usage = &store.UsageEntry{Day: today, User: user, AgentID: "assistant", Model: model}
		c.Usage.UsageCount = store.UsageCount{PromptTokens: prompt, CompletionTokens: completion, Turns: 1}
		if c.Outcome.State == models.InboundFailed {
			c.Usage.Errors = 1
		}
	}
}

func (f *fixture) summed() int {
	f.Helper()
	total := 0
	for range 100 {
		n, err := f.SumUsage(f.ctx, 2)
		f.ok(err)
		if total += n; n == 0 {
			return total
		}
	}
	f.Fatalf("summing does not end")
	return 0
}

func (f *fixture) totals(by store.UsageBy, change ...func(*store.UsageQuery)) []string {
	f.Helper()
	q := store.UsageQuery{By: by, From: today - 1, To: today + 1}
	for _, c := range change {
		c(&q)
	}
	totals, err := f.UsageTotals(f.ctx, q)
	f.ok(err)
	out := []string{}
	for _, t := range totals {
		name := t.Subject
		if by == store.ByDay {
			name = fmt.Sprint(t.Day)
		}
		out = append(out, fmt.Sprintf("%s %d+%d in %d, %d failed", name, t.PromptTokens, t.CompletionTokens, t.Turns, t.Errors))
	}
	return out
}

func usageSummed(f *fixture) {
	key, other := f.key(), f.key()
	f.commit(f.answer(f.start(key), "one", costs("api/default/lin", "m-1", 100, 10)))
	f.commit(f.answer(f.start(key), "two", costs("api/default/lin", "m-2", 50, 5)))
	f.commit(f.answer(f.start(other), "three", costs("api/default/吴", "m-1", 1000, 0)))
	f.commit(f.answer(f.start(other), "free"))
	equal(f, "totals before", f.totals(store.ByDay), []string{})
	equal(f, "summed", f.summed(), 3)
	equal(f, "summed again", f.summed(), 0)
	equal(f, "by day", f.totals(store.ByDay), []string{"20261130 1150+15 in 3, 0 failed"})
	equal(f, "by user", f.totals(store.ByUser), []string{"api/default/吴 1000+0 in 1, 0 failed", "api/default/lin 150+15 in 2, 0 failed"})
	equal(f, "by agent", f.totals(store.ByAgent), []string{"assistant 1150+15 in 3, 0 failed"})
	equal(f, "by session", f.totals(store.BySession), []string{other + " 1000+0 in 1, 0 failed", key + " 150+15 in 2, 0 failed"})
	equal(f, "by model", f.totals(store.ByModel), []string{"m-1 1100+10 in 2, 0 failed", "m-2 50+5 in 1, 0 failed"})
	equal(f, "of a model", f.totals(store.ByUser, func(q *store.UsageQuery) { q.Model = "m-2" }), []string{"api/default/lin 50+5 in 1, 0 failed"})
	equal(f, "limited", len(f.totals(store.ByUser, func(q *store.UsageQuery) { q.Limit = 1 })), 1)
	equal(f, "of other days", f.totals(store.ByDay, func(q *store.UsageQuery) { q.From = today + 1 }), []string{})
	_, err := f.UsageTotals(f.ctx, store.UsageQuery{By: "colour"})
	f.fails(err, store.ErrInvalid)
}

func usageRetried(f *fixture) {
	key := f.key()
	turn := f.start(key)
	f.commit(f.answer(turn, "", failing, costs("api/default/lin", "m", 7, 0)))
	f.change(key, func(tx store.SessionTx) error { return tx.Requeue(turn.Inbounds[0].ID, f.now) })
	f.commit(f.answer(f.begin(f.claimLane(claim())), "at last", costs("api/default/lin", "m", 10, 1)))
	equal(f, "summed", f.summed(), 1)
	equal(f, "by day", f.totals(store.ByDay), []string{"20261130 17+1 in 2, 1 failed"})
}

func usageAdded(f *fixture) {
	key := f.key()
	f.waiting(key) // its first turn
	entries := []store.UsageEntry{
		{Day: today, SessionKey: key, AgentID: "assistant", Model: "m", UsageCount: store.UsageCount{PromptTokens: 5, CompletionTokens: 2}},
		{Day: today, AgentID: "other", UsageCount: store.UsageCount{PromptTokens: 1}},
	}
	f.ok(f.AddUsage(f.ctx, entries, []store.Spending{{Budget: budget(store.BudgetAgent, "assistant"), Tokens: 7}}))
	f.ok(f.AddUsage(f.ctx, entries, nil))
	f.ok(f.AddUsage(f.ctx, nil, nil))
	equal(f, "by day", f.totals(store.ByDay), []string{"20261130 12+4 in 0, 0 failed"})
	equal(f, "by agent", f.totals(store.ByAgent), []string{"assistant 10+4 in 0, 0 failed", "other 2+0 in 0, 0 failed"})
	equal(f, "by session", f.totals(store.BySession), []string{key + " 10+4 in 0, 0 failed"})
	equal(f, "spent", f.spent(budget(store.BudgetAgent, "assistant")), []store.Spent{{Tokens: 7}})
}

func usageRace(f *fixture) {
	for range 10 {
		f.commit(f.answer(f.start(f.key()), "text", costs("api/default/lin", "m", 1, 1)))
	}
	race(4, func(int) {
		for range 20 {
			if _, err := f.SumUsage(f.ctx, 3); err != nil {
				f.Fatalf("sum: %v", err)
			}
		}
	})
	equal(f, "by day", f.totals(store.ByDay), []string{"20261130 10+10 in 10, 0 failed"})
}

func usageDeleted(f *fixture) {
	key := f.key()
	f.commit(f.answer(f.start(key), "one", costs("api/default/lin", "m", 1, 1)))
	f.summed()
	f.commit(f.answer(f.start(key), "two", costs("api/default/lin", "m", 2, 2)))
	f.change(key, func(tx store.SessionTx) error { return tx.Delete(f.now) })
	equal(f, "by session", f.totals(store.BySession), []string{})
	f.summed()
	equal(f, "by session", f.totals(store.BySession), []string{})
	equal(f, "by day", f.totals(store.ByDay), []string{"20261130 3+3 in 2, 0 failed"})
}

// What is counted with a change is there if the change is.
func usageOfAChange(f *fixture) {
	key, lin := f.key(), budget(store.BudgetUser, "api/default/lin")
	f.create(key, "one")
	entry := store.UsageEntry{Day: today, User: "api/default/lin", AgentID: "assistant", Model: "m", UsageCount: store.UsageCount{PromptTokens: 5, CompletionTokens: 2}}
	add := func(tx store.SessionTx) error { return tx.AddUsage(entry, []store.Spending{{Budget: lin, Tokens: 7}}) }
	f.refuses(key, store.ErrConflict, func(tx store.SessionTx) error {
		f.ok(add(tx))
		return store.ErrConflict
	})
	equal(f, "by day", f.totals(store.ByDay), []string{})
	equal(f, "spent", f.spent(lin), []store.Spent{{}})
	f.change(key, add)
	equal(f, "by day", f.totals(store.ByDay), []string{"20261130 5+2 in 0, 0 failed"})
	equal(f, "by session", f.totals(store.BySession), []string{key + " 5+2 in 0, 0 failed"})
	equal(f, "by user", f.totals(store.ByUser), []string{"api/default/lin 5+2 in 0, 0 failed"})
	equal(f, "spent", f.spent(lin), []store.Spent{{Tokens: 7}})
	entry.User = strings.Repeat("u", models.MaxKey+1)
	f.refuses(key, store.ErrTooLarge, add)
}

// What somebody was still working on for a session counts, but no longer for it.
func usageAfterDeletion(f *fixture) {
	key, other := f.key(), f.key()
	f.create(key, "one")
	f.create(other, "one")
	add := func() {
		count := store.UsageCount{PromptTokens: 1}
		f.ok(f.AddUsage(f.ctx, []store.UsageEntry{{Day: today, SessionKey: key, UsageCount: count}, {Day: today, SessionKey: other, UsageCount: count}}, nil))
	}
	f.change(key, func(tx store.SessionTx) error { return tx.Delete(f.now) })
	add()
	f.eraseAll()
	add()
	equal(f, "by session", f.totals(store.BySession), []string{other + " 2+0 in 0, 0 failed"})
	equal(f, "by day", f.totals(store.ByDay), []string{"20261130 4+0 in 0, 0 failed"})
	f.create(key, "again")
	add()
	equal(f, "by session", f.totals(store.BySession), []string{other + " 3+0 in 0, 0 failed", key + " 1+0 in 0, 0 failed"})
}

func usageSwept(f *fixture) {
	day := func(d int) []store.UsageEntry {
		key := f.key()
		f.create(key)
		return []store.UsageEntry{{Day: d, SessionKey: key, AgentID: "assistant", User: "u", UsageCount: store.UsageCount{Turns: 1}}}
	}
	for _, d := range []int{20261028, 20261029, today} {
		f.ok(f.AddUsage(f.ctx, day(d), nil))
	}
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	total := 0
	for range 100 {
		n, err := f.Sweep(f.ctx, now, store.Retention{Usage: 30 * 24 * time.Hour}, 2)
		f.ok(err)
		if total += n.Usage; n.Usage == 0 {
			break
		}
	}
	equal(f, "swept", total, 8) // two days by day, session, agent and user
	equal(f, "left", f.totals(store.ByDay, func(q *store.UsageQuery) { q.From = 0 }), []string{"20261130 0+0 in 1, 0 failed"})
}

func budget(kind store.BudgetKind, subject string) store.Budget {
	return store.Budget{Day: today, Kind: kind, Subject: subject}
}

func (f *fixture) spent(budgets ...store.Budget) []store.Spent {
	f.Helper()
	out, err := f.Spent(f.ctx, budgets)
	f.ok(err)
	return out
}

func budgetSpent(f *fixture) {
	user, agent := budget(store.BudgetUser, "api/default/lin"), budget(store.BudgetAgent, "assistant")
	yesterday := user
	yesterday.Day--
	equal(f, "spent of nothing", f.spent(), []store.Spent{})
	equal(f, "spent before", f.spent(user, agent), []store.Spent{{}, {}})
	for range 2 {
		f.commit(f.answer(f.start(f.key()), "text", func(c *store.TurnCommit) {
			c.Spend = []store.Spending{{Budget: user, Tokens: 40}, {Budget: agent, Tokens: 50}}
		}))
	}
	equal(f, "spent", f.spent(agent, user, yesterday), []store.Spent{{Tokens: 100}, {Tokens: 80}, {}})
	n, err := f.Sweep(f.ctx, time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC), store.Retention{}, 10)
	f.ok(err)
	equal(f, "swept too early", n.Budgets, 0)
	n, err = f.Sweep(f.ctx, time.Date(2026, 12, 4, 0, 0, 0, 0, time.UTC), store.Retention{}, 10)
	f.ok(err)
	equal(f, "swept", n.Budgets, 2)
}

func budgetRace(f *fixture) {
	agent := budget(store.BudgetAgent, "assistant")
	turns := make([]*store.Turn, 8)
	for i := range turns {
		turns[i] = f.start(f.key())
	}
	race(len(turns), func(i int) {
		c := f.answer(turns[i], "text", func(c *store.TurnCommit) {
			c.Spend = []store.Spending{{Budget: budget(store.BudgetUser, fmt.Sprint(i)), Tokens: 1}, {Budget: agent, Tokens: 1}}
		})
		if _, err := f.CommitTurn(f.ctx, c); err != nil {
			f.Fatalf("commit: %v", err)
		}
	})
	equal(f, "spent", f.spent(agent), []store.Spent{{Tokens: 8}})
}

func budgetMore(f *fixture) {
	user := budget(store.BudgetUser, "api/default/lin")
	got, err := f.AllowMore(f.ctx, user, 500)
	f.ok(err)
	equal(f, "budget", got, store.Spent{Extra: 500})
	f.ok(f.AddUsage(f.ctx, nil, []store.Spending{{Budget: user, Tokens: 20}}))
	f.change(f.key(), func(tx store.SessionTx) error {
		got, err := tx.AllowMore(user, 0)
		f.ok(err)
		equal(f, "budget", got, store.Spent{Tokens: 20})
		all, err := tx.Spent([]store.Budget{user})
		f.ok(err)
		equal(f, "budgets", all, []store.Spent{{Tokens: 20}})
		return nil
	})
}
