package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func lifecycleTests() []test {
	return []test{
		{"Idle", lifecycleIdle},
		{"Archive", lifecycleArchive},
		{"Expire", lifecycleExpire},
		{"InUseIsSkipped", lifecycleInUse},
		{"OnlyPeopleUseSessions", lifecycleUse},
		{"NeverUsed", lifecycleUnused},
		{"Batches", lifecycleBatches},
		{"ThereAndBack", lifecycleRound},
		{"DueSessions", lifecycleDue},
		{"UnsentAnswersKeepASession", lifecycleUnsent},
		{"ManyExpire", lifecycleMany},
		{"RestoredByHand", lifecycleRestored},
		{"UsedByACommand", lifecycleCommand},
		{"ExpireAsItWas", lifecycleMark},
		{"Move", moveSession},
		{"MoveBehindWhatIsThere", moveBehind},
		{"MoveIsRefused", moveRefused},
		{"MoveTakesEverything", moveEverything},
		{"MoveTakesUsage", moveUsage},
		{"MoveTakesWhatIsUnsent", moveUnsent},
		{"MovesAndTurns", moveRace},
		{"RacesWithTurns", lifecycleRace},
		{"CompactCandidates", candidatesCompact},
		{"CompactCandidatesOfAnySize", candidatesBySize},
		{"PruneCandidates", candidatesPrune},
		{"CandidatesPageByPage", candidatesPages},
		{"JobRuns", jobRuns},
	}
}

// used makes a session that a person used so long ago.
func (f *fixture) used(ago time.Duration, set ...func(s *models.Session)) string {
	f.Helper()
	key := f.key()
	s := f.newSession(key)
	s.CreatedAt, s.LastUserAt, s.LastActivityAt, s.UpdatedAt = f.at(-ago), f.at(-ago), f.at(-ago), f.at(-ago)
	for _, set := range set {
		set(s)
	}
	f.ok(f.CreateSession(f.ctx, s))
	return key
}

func pinned(s *models.Session) { s.Pinned = true }

func inState(state models.SessionState) func(*models.Session) {
	return func(s *models.Session) { s.State = state }
}

func (f *fixture) inStates(want models.SessionState, keys ...string) {
	f.Helper()
	for _, key := range keys {
		equal(f, "state of "+key, f.session(key).State, want)
	}
}

// passes runs a step to its end and returns what it came to.
func (f *fixture) passes(step store.Step, before time.Time) store.Passed {
	f.Helper()
	run := map[store.Step]func(time.Time, int) (store.Passed, error){
		store.StepIdle:    func(t time.Time, n int) (store.Passed, error) { return f.IdleSessions(f.ctx, t, n) },
		store.StepArchive: func(t time.Time, n int) (store.Passed, error) { return f.ArchiveSessions(f.ctx, t, n) },
		store.StepExpire:  func(t time.Time, n int) (store.Passed, error) { return f.ExpireSessions(f.ctx, t, n) },
	}[step]
	p, err := run(before, 1000)
	f.ok(err)
	equal(f, "considered", p.Considered, p.Changed+p.Skipped)
	return p
}

func lifecycleIdle(f *fixture) {
	old, oldPinned := f.used(3*time.Hour), f.used(3*time.Hour, pinned)
	young := f.used(time.Hour)
	archived := f.used(3*time.Hour, inState(models.SessionArchived))
	before := f.session(old)
	equal(f, "passed", f.passes(store.StepIdle, f.at(-2*time.Hour)), store.Passed{Considered: 2, Changed: 2})
	f.inStates(models.SessionIdle, old, oldPinned)
	f.inStates(models.SessionActive, young)
	f.inStates(models.SessionArchived, archived)
	after := f.session(old)
	f.sameTime("lastActivityAt", after.LastActivityAt, before.LastActivityAt)
	f.sameTime("lastUserAt", after.LastUserAt, before.LastUserAt)
	equal(f, "passed again", f.passes(store.StepIdle, f.at(-2*time.Hour)), store.Passed{})
	equal(f, "zero is off", f.passes(store.StepIdle, time.Time{}), store.Passed{})
	f.inStates(models.SessionActive, young)
}

func lifecycleArchive(f *fixture) {
	idle := f.used(3*time.Hour, inState(models.SessionIdle))
	compacted := f.used(3*time.Hour, inState(models.SessionCompacted))
	active := f.used(3 * time.Hour)
	kept := f.used(3*time.Hour, inState(models.SessionIdle), pinned)
	young := f.used(time.Hour, inState(models.SessionIdle))
	equal(f, "passed", f.passes(store.StepArchive, f.at(-2*time.Hour)), store.Passed{Considered: 2, Changed: 2})
	f.inStates(models.SessionArchived, idle, compacted)
	f.inStates(models.SessionActive, active)
	f.inStates(models.SessionIdle, kept, young)
}

func lifecycleExpire(f *fixture) {
	var gone []string
	for _, state := range []models.SessionState{models.SessionActive, models.SessionIdle, models.SessionCompacted, models.SessionArchived} {
		key := f.used(3*time.Hour, inState(state))
		f.notebook(key, "secret")
		gone = append(gone, key)
	}
	kept := f.used(3*time.Hour, pinned)
	young := f.used(time.Hour)
	equal(f, "passed", f.passes(store.StepExpire, f.at(-2*time.Hour)), store.Passed{Considered: 4, Changed: 4})
	for _, key := range gone {
		_, err := f.Session(f.ctx, key)
		f.fails(err, store.ErrNotFound)
		equal(f, "notes", f.notes(key, 10), []string{})
	}
	f.inStates(models.SessionActive, kept, young)
	f.eraseAll()
	f.create(gone[0], "new")
	equal(f, "history", f.history(gone[0], models.DefaultSlot), []string{"new"})
}

func lifecycleInUse(f *fixture) {
	waits, runs, free := f.used(3*time.Hour), f.used(3*time.Hour), f.used(3*time.Hour)
	f.waiting(waits)
	turn := f.start(runs)
	for _, step := range []store.Step{store.StepIdle, store.StepExpire} {
		equal(f, string(step), f.passes(step, f.at(-2*time.Hour)), store.Passed{Considered: 3, Changed: 1, Skipped: 2, InUse: 2})
		f.inStates(models.SessionActive, waits, runs)
		if step == store.StepIdle {
			f.inStates(models.SessionIdle, free)
		}
	}
	f.commit(f.answer(turn, "one"))
	f.inStates(models.SessionActive, runs)
	equal(f, "history", f.history(runs, models.DefaultSlot), []string{"to one", "one"})
	equal(f, "passed", f.passes(store.StepIdle, f.at(-2*time.Hour)), store.Passed{Considered: 1, Skipped: 1, InUse: 1})
}

// Idleness counts from what people write, and from nothing else.
func lifecycleUse(f *fixture) {
	kept := f.used(3 * time.Hour)
	f.change(kept, func(tx store.SessionTx) error {
		return tx.Append(models.DefaultSlot, []*models.SessionMessage{f.said(models.RoleAssistant, "pushed")}, f.now)
	})
	f.notebook(kept, "note")
	f.compact(kept, models.DefaultSlot, 1, "summary")
	f.waiting(kept, kind(models.KindObserved))
	quiet := f.start(kept) // a turn that no person caused
	f.commit(f.answer(quiet, "task", func(c *store.TurnCommit) { c.UserAt = time.Time{} }))
	equal(f, "archived", f.passes(store.StepArchive, f.at(-2*time.Hour)).Changed, 1)

	// Every message of a person counts, however close they follow one another.
	used := f.used(3 * time.Hour)
	for _, ago := range []time.Duration{125 * time.Minute, 119 * time.Minute} {
		turn := f.start(used)
		f.commit(f.answer(turn, "one", func(c *store.TurnCommit) { c.UserAt = f.at(-ago) }))
	}
	f.passes(store.StepIdle, f.at(-2*time.Hour))
	f.inStates(models.SessionActive, used)
	f.passes(store.StepIdle, f.at(-118*time.Minute))
	f.inStates(models.SessionIdle, used)

	appended := f.used(3*time.Hour, inState(models.SessionArchived))
	f.add(appended, "by a person")
	f.inStates(models.SessionActive, appended)
}

func lifecycleUnused(f *fixture) {
	never := func(s *models.Session) { s.LastUserAt = time.Time{} }
	old, young := f.used(3*time.Hour, never), f.used(time.Hour, never)
	for _, c := range []struct {
		step store.Step
		want models.SessionState
	}{{store.StepIdle, models.SessionIdle}, {store.StepArchive, models.SessionArchived}} {
		equal(f, string(c.step), f.passes(c.step, f.at(-2*time.Hour)), store.Passed{Considered: 1, Changed: 1})
		f.inStates(c.want, old)
	}
	equal(f, "expired", f.passes(store.StepExpire, f.at(-2*time.Hour)), store.Passed{Considered: 1, Changed: 1})
	f.inStates(models.SessionActive, young)
}

// A batch is filled whatever is in use, the longest unused first.
func lifecycleBatches(f *fixture) {
	var keys []string
	for i := range 8 {
		keys = append(keys, f.used(time.Duration(20-i)*time.Hour))
	}
	for _, key := range keys[:3] {
		f.waiting(key)
	}
	for _, want := range []store.Passed{
		{Considered: 5, Changed: 2, Skipped: 3, InUse: 3}, {Considered: 5, Changed: 2, Skipped: 3, InUse: 3}, {Considered: 4, Changed: 1, Skipped: 3, InUse: 3},
	} {
		p, err := f.IdleSessions(f.ctx, f.at(-2*time.Hour), 2)
		f.ok(err)
		equal(f, "passed", p, want)
	}
	f.inStates(models.SessionActive, keys[:3]...)
	f.inStates(models.SessionIdle, keys[3:]...)
}

// A session goes through all its states, and back to active from each.
func lifecycleRound(f *fixture) {
	key := f.key()
	f.turn(key, "one")
	far := f.at(time.Hour)
	steps := []struct {
		state models.SessionState
		do    func()
	}{
		{models.SessionIdle, func() { f.passes(store.StepIdle, far) }},
		{models.SessionCompacted, func() { f.passes(store.StepIdle, far); f.compact(key, models.DefaultSlot, 2, "summary") }},
		{models.SessionArchived, func() { f.passes(store.StepIdle, far); f.passes(store.StepArchive, far) }},
	}
	for _, s := range steps {
		s.do()
		f.inStates(s.state, key)
		equal(f, "state in the context", f.load(key, "").Session.State, s.state)
		f.turn(key, "again")
		f.inStates(models.SessionActive, key)
	}
	f.compact(key, models.DefaultSlot, 5, "summary")
	f.passes(store.StepArchive, far)
	f.inStates(models.SessionArchived, key)
	f.passes(store.StepExpire, far)
	_, err := f.Session(f.ctx, key)
	f.fails(err, store.ErrNotFound)
}

func lifecycleDue(f *fixture) {
	old, never := f.used(4*time.Hour), f.used(3*time.Hour, func(s *models.Session) { s.LastUserAt = time.Time{} })
	f.waiting(f.used(3 * time.Hour))
	f.used(time.Hour)
	kept := f.used(3*time.Hour, pinned)
	due := func(step store.Step, limit int) []string {
		keys, err := f.DueSessions(f.ctx, step, f.at(-2*time.Hour), limit)
		f.ok(err)
		slices.Sort(keys)
		return keys
	}
	sorted := func(keys ...string) []string { slices.Sort(keys); return keys }
	equal(f, "idle", due(store.StepIdle, 10), sorted(old, never, kept))
	equal(f, "archive", len(due(store.StepArchive, 10)), 0)
	equal(f, "expire", due(store.StepExpire, 10), sorted(old, never))
	equal(f, "one", due(store.StepExpire, 1), []string{old})
	f.inStates(models.SessionActive, old, never, kept)
	_, err := f.DueSessions(f.ctx, "later", f.now, 10)
	f.fails(err, store.ErrInvalid)
}

// A message that is accepted while its session is archived makes it active in the end.
func lifecycleRace(f *fixture) {
	const sessions = 20
	var keys []string
	for range sessions {
		keys = append(keys, f.used(3*time.Hour, inState(models.SessionIdle)))
	}
	var passErr error
	errs := make([]error, 2)
	race(3, func(i int) {
		if i == 2 {
			for range 10 {
				if _, err := f.ArchiveSessions(f.ctx, f.at(-2*time.Hour), 7); err != nil {
					passErr = err
				}
			}
			return
		}
		for n := i; n < sessions; n += 2 {
			a, err := f.Accept(f.ctx, f.message(keys[n], claimed(claim())))
			if err == nil {
				_, err = f.CommitTurn(f.ctx, f.answer(&store.Turn{Claim: *a.Claim, Inbounds: []*models.Inbound{a.Inbound}}, "one"))
			}
			if err != nil {
				errs[i] = err
			}
		}
	})
	f.ok(passErr)
	f.ok(errs[0])
	f.ok(errs[1])
	f.inStates(models.SessionActive, keys...)
}

func slotNames(slots []store.SlotSize) []string {
	out := []string{}
	for _, s := range slots {
		out = append(out, fmt.Sprintf("%s/%s", s.SessionKey, s.Slot))
	}
	slices.Sort(out)
	return out
}

// weighing makes a session with messages of so many tokens.
func (f *fixture) weighing(tokens ...int) string {
	f.Helper()
	key := f.key()
	f.create(key)
	for _, n := range tokens {
		m := f.said(models.RoleUser, "text")
		m.TokenCount = n
		f.ok(f.AppendMessages(f.ctx, key, []*models.SessionMessage{m}))
	}
	return key
}

// The index by which they are found is coarse, what is found is not.
func candidatesBySize(f *fixture) {
	sizes := []int{1, 255, 256, 257, 4000, 4095, 4096, 4097, 8191, 8192, 100_000}
	for _, size := range sizes {
		f.weighing(size)
	}
	for i, least := range sizes {
		some, _, err := f.CompactCandidates(f.ctx, least, 1, "", 50)
		f.ok(err)
		var found []int
		for _, slot := range some {
			found = append(found, slot.Tokens)
		}
		slices.Sort(found)
		equal(f, fmt.Sprint("of ", least, " and more"), found, sizes[i:])
	}
}

func candidatesCompact(f *fixture) {
	heavy := f.weighing(4000, 4000, 4000)
	f.weighing(4000, 3999) // too light
	f.weighing(100_000)    // one message
	busy := f.weighing(4000, 4000, 4000)
	turn := f.start(busy)
	closed := f.weighing(4000, 4000, 4000)
	slot := f.slots(closed)[0]
	slot.Compact = false
	f.change(closed, func(tx store.SessionTx) error { return tx.UpdateSlot(slot) })
	find := func() []string {
		some, next, err := f.CompactCandidates(f.ctx, 8000, 2, "", 10)
		f.ok(err)
		equal(f, "next", next, "")
		return slotNames(some)
	}
	equal(f, "candidates", find(), []string{heavy + "/default"})
	some, _, err := f.CompactCandidates(f.ctx, 12_000, 3, "", 10)
	f.ok(err)
	equal(f, "candidates", some, []store.SlotSize{{SessionKey: heavy, AgentID: "assistant", Slot: models.DefaultSlot, Messages: 3, Tokens: 12_000}})
	f.compact(heavy, models.DefaultSlot, 2, "summary")
	equal(f, "after the compaction", find(), []string{})
	f.commit(f.answer(turn, "one"))
	equal(f, "not in use any more", find(), []string{busy + "/default"})
	f.delete(busy)
	equal(f, "deleted", find(), []string{})
}

func candidatesPrune(f *fixture) {
	many := f.key()
	f.create(many, numbered("m", 20)...)
	f.slot(many, "work", numbered("m", 12)...)
	f.create(f.key(), numbered("m", 11)...)
	f.start(f.weighing(make([]int, 12)...)) // in use
	find := func() []string {
		some, next, err := f.PruneCandidates(f.ctx, 12, "", 10)
		f.ok(err)
		equal(f, "next", next, "")
		return slotNames(some)
	}
	mark := func(slot string, through int64) {
		f.change(many, func(tx store.SessionTx) error { return tx.MarkPruned(slot, through) })
	}
	equal(f, "candidates", find(), []string{many + "/default", many + "/work"})
	mark("work", 12)
	mark(models.DefaultSlot, 8)
	equal(f, "candidates", find(), []string{many + "/default"})
	mark(models.DefaultSlot, 9)
	mark(models.DefaultSlot, 1) // it never goes back
	equal(f, "candidates", find(), []string{})
	mark(models.DefaultSlot, 1000) // no further than there are messages
	f.add(many, numbered("n", 12)...)
	equal(f, "candidates", find(), []string{many + "/default"})
	f.refuses(many, store.ErrNotFound, func(tx store.SessionTx) error { return tx.MarkPruned("gone", 1) })
}

func candidatesPages(f *fixture) {
	var want []string
	for i := range 9 {
		key := f.weighing(5000+5000*(i%3), 1)
		want = append(want, key+"/default")
		if i%2 == 0 {
			f.change(key, func(tx store.SessionTx) error {
				s := f.newSlot("copy")
				s.Source = models.SlotSource{Kind: models.SlotDerived, ParentID: models.DefaultSlot, Strategy: models.DeriveFull}
				return tx.DeriveSlot(s, models.DefaultSlot)
			})
			want = append(want, key+"/copy")
		}
	}
	slices.Sort(want)
	for _, limit := range []int{1, 2, 5, 100} {
		var all []store.SlotSize
		after := ""
		for range 100 {
			some, next, err := f.CompactCandidates(f.ctx, 5000, 1, after, limit)
			f.ok(err)
			if len(some) > limit {
				f.Fatalf("a page of %d", len(some))
			}
			all = append(all, some...)
			if after = next; next == "" {
				break
			}
		}
		equal(f, fmt.Sprint("by pages of ", limit), slotNames(all), want)
	}
	_, _, err := f.CompactCandidates(f.ctx, 0, 0, "no cursor", 10)
	f.fails(err, store.ErrInvalid)
}

func jobRuns(f *fixture) {
	all, err := f.JobRuns(f.ctx)
	f.ok(err)
	equal(f, "runs", len(all), 0)
	run := &store.JobRun{
		Job: "idle", StartedAt: f.at(time.Minute), FinishedAt: f.at(2 * time.Minute), Considered: 5, Changed: 3, Skipped: 2,
		Reasons: map[string]int{"in use": 2}, Error: "错",
	}
	f.ok(f.SaveJobRun(f.ctx, &store.JobRun{Job: "idle", StartedAt: f.now, FinishedAt: f.now, Changed: 1}))
	f.ok(f.SaveJobRun(f.ctx, run))
	f.ok(f.SaveJobRun(f.ctx, run)) // again
	f.ok(f.SaveJobRun(f.ctx, &store.JobRun{Job: "idle", StartedAt: f.now, FinishedAt: f.at(time.Hour)}))
	f.ok(f.SaveJobRun(f.ctx, &store.JobRun{Job: "archive", StartedAt: f.now, FinishedAt: f.now}))
	all, err = f.JobRuns(f.ctx)
	f.ok(err)
	equal(f, "runs", len(all), 2)
	equal(f, "first", [...]any{all[0].Job, all[0].Reasons == nil, all[0].Error}, [...]any{"archive", true, ""})
	got := *all[1]
	f.sameTime("startedAt", got.StartedAt, run.StartedAt)
	f.sameTime("finishedAt", got.FinishedAt, run.FinishedAt)
	got.StartedAt, got.FinishedAt = run.StartedAt, run.FinishedAt
	equal(f, "last run", got, *run)
	f.fails(f.SaveJobRun(f.ctx, &store.JobRun{}), store.ErrInvalid)
}
