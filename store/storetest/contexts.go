package storetest

import (
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func contextTests() []test {
	return []test{
		{"OldPicturesAreLeftOut", contextPictures},
		{"Compact", compact},
		{"CompactAgain", compactAgain},
		{"CompactByGeneration", compactGeneration},
		{"StoppedSummaries", stoppedSummaries},
		{"SummaryIsOfTheCurrentSlot", summaryOfCurrentSlot},
		{"CompactWithinBounds", compactBounds},
		{"Untouched", untouched},
		{"CompactedState", compactState},
		{"CompactedAndReset", compactReset},
		{"CompactedAndDerived", compactDerived},
		{"CompactedAndUndone", compactUndo},
		{"FirstSystem", firstSystem},
		{"Freeze", freezeForms},
		{"FreezeOfAnotherContext", freezeReset},
		{"FreezeByATurn", freezeTurn},
		{"DropMessages", drop},
		{"DropCompacted", dropCompacted},
		{"MergeSlot", mergeSlot},
		{"MergeSlotAgain", slotMergeAgain},
		{"MergeSlotRefused", mergeRefused},
	}
}

func (f *fixture) load(key, slot string) *store.SessionContext {
	f.Helper()
	c, err := f.LoadContext(f.ctx, key, slot, 100)
	f.ok(err)
	return c
}

// compact puts a summary in the place of everything up to a message.
func (f *fixture) compact(key, slot string, through int64, text string) {
	f.Helper()
	gen := f.load(key, slot).Generation
	f.change(key, func(tx store.SessionTx) error {
		return tx.Compact(slot, gen, through, f.said(models.RoleSystem, text), f.now)
	})
}

// context describes what a context shows: its summary first.
func (f *fixture) context(key, slot string) []string {
	f.Helper()
	c := f.load(key, slot)
	out := contents(c.Messages)
	live, tokens := len(c.Messages), 0
	if c.Summary != nil {
		live, tokens = live+1, c.Summary.TokenCount
	}
	for _, m := range c.Messages {
		tokens += m.TokenCount
	}
	equal(f, "live", [...]int{c.LiveMessages, c.LiveTokens}, [...]int{live, tokens})
	if c.Summary != nil {
		if !c.Summary.IsCompacted || c.Summary.Slot != slot {
			f.Fatalf("summary is %+v", c.Summary)
		}
		out = append([]string{c.Summary.Content}, out...)
	}
	for _, m := range c.Messages {
		if m.IsCompacted {
			f.Fatalf("a summary among the messages: %+v", m)
		}
	}
	return out
}

// counted checks the counters of a session that has one slot.
func (f *fixture) counted(key string) {
	f.Helper()
	messages, tokens := 0, 0
	for _, s := range f.slots(key) {
		all, err := f.Messages(f.ctx, key, s.ID, 0, 1000)
		f.ok(err)
		sum := 0
		for _, m := range all {
			sum += m.TokenCount
		}
		equal(f, "counters of "+s.ID, [...]int{s.MessageCount, s.TotalTokens}, [...]int{len(all), sum})
		messages, tokens = messages+len(all), tokens+sum
	}
	s := f.session(key)
	equal(f, "counters", [...]int{s.MessageCount, s.TotalTokenCount}, [...]int{messages, tokens})
}

// live is the size of a slot as the jobs see it.
func (f *fixture) live(key, slot string) (messages, tokens int) {
	f.Helper()
	after := ""
	for range 100 {
		some, next, err := f.CompactCandidates(f.ctx, 0, 0, after, 50)
		f.ok(err)
		for _, s := range some {
			if s.SessionKey == key && s.Slot == slot {
				return s.Messages, s.Tokens
			}
		}
		if after = next; next == "" {
			break
		}
	}
	f.Fatalf("slot %s is not among the candidates", slot)
	return 0, 0
}

func compact(f *fixture) {
	key := f.key()
	f.create(key, numbered("m", 6)...)
	f.slot(key, "work", "other")
	summary := f.said(models.RoleSystem, "summary 摘要")
	gen := f.load(key, models.DefaultSlot).Generation
	f.change(key, func(tx store.SessionTx) error {
		return tx.Compact(models.DefaultSlot, gen, 4, summary, f.at(time.Second))
	})
	equal(f, "summary", [...]any{summary.Seq, summary.Slot, summary.IsCompacted}, [...]any{int64(7), models.DefaultSlot, true})
	equal(f, "context", f.context(key, models.DefaultSlot), []string{"summary 摘要", "m-5", "m-6"})
	equal(f, "history", f.history(key, models.DefaultSlot), append(numbered("m", 6), "summary 摘要"))
	equal(f, "other slot", f.context(key, "work"), []string{"other"})
	s := f.session(key)
	equal(f, "session", [...]any{s.CompactionCount, s.CompactedSummary}, [...]any{1, "summary 摘要"})
	f.counted(key)
	messages, tokens := f.live(key, models.DefaultSlot)
	equal(f, "live", [...]int{messages, tokens}, [...]int{3, len("summary 摘要m-5m-6")})

	f.add(key, "m-7")
	equal(f, "context", f.context(key, models.DefaultSlot), []string{"summary 摘要", "m-5", "m-6", "m-7"})
	c, err := f.LoadContext(f.ctx, key, models.DefaultSlot, 1)
	f.ok(err)
	equal(f, "newest one", contents(c.Messages), []string{"m-7"})
	equal(f, "summary", c.Summary.Content, "summary 摘要")
	f.counted(key)
}

func compactAgain(f *fixture) {
	key := f.key()
	f.create(key, numbered("m", 6)...)
	f.compact(key, models.DefaultSlot, 3, "first")
	f.add(key, "m-7", "m-8")
	f.compact(key, models.DefaultSlot, 5, "second") // the first summary stands behind it
	equal(f, "context", f.context(key, models.DefaultSlot), []string{"second", "m-6", "m-7", "m-8"})
	f.compact(key, models.DefaultSlot, 8, "third") // between m-7 and m-8
	equal(f, "context", f.context(key, models.DefaultSlot), []string{"third", "m-8"})
	equal(f, "history", f.history(key, models.DefaultSlot), append(numbered("m", 6), "first", "m-7", "m-8", "second", "third"))
	s := f.session(key)
	equal(f, "session", [...]any{s.CompactionCount, s.CompactedSummary}, [...]any{3, "third"})
	messages, tokens := f.live(key, models.DefaultSlot)
	equal(f, "live", [...]int{messages, tokens}, [...]int{2, len("thirdm-8")})
	f.counted(key)
}

func compactGeneration(f *fixture) {
	for _, c := range []struct {
		what string
		do   func(key string)
	}{
		{"compacted", func(key string) { f.compact(key, models.DefaultSlot, 2, "meanwhile") }},
		{"reset", func(key string) {
			f.reset(key, models.DefaultSlot)
			f.add(key, numbered("new", 6)...)
		}},
		{"undone", func(key string) {
			f.change(key, func(tx store.SessionTx) error { return tx.UndoTurn(models.DefaultSlot, f.now) })
		}},
		{"dropped", func(key string) {
			f.change(key, func(tx store.SessionTx) error { _, err := tx.DropMessages(models.DefaultSlot, 2, f.now); return err })
		}},
		{"deleted and made again", func(key string) {
			f.delete(key)
			f.create(key, numbered("new", 6)...)
		}},
	} {
		f.Log(c.what)
		key := f.key()
		f.create(key, numbered("m", 6)...)
		gen := f.load(key, models.DefaultSlot).Generation
		c.do(key)
		before := f.context(key, models.DefaultSlot)
		f.refuses(key, store.ErrConflict, func(tx store.SessionTx) error {
			if now, err := tx.Generation(models.DefaultSlot); err != nil || now == gen {
				f.Fatalf("generation is %d still: %v", now, err)
			}
			return tx.Compact(models.DefaultSlot, gen, 4, f.said(models.RoleSystem, "too late"), f.now)
		})
		equal(f, "context", f.context(key, models.DefaultSlot), before)
		f.counted(key)
	}

	// What arrives meanwhile does not matter.
	key := f.key()
	f.create(key, numbered("m", 6)...)
	gen := f.load(key, models.DefaultSlot).Generation
	f.turn(key, "meanwhile")
	f.change(key, func(tx store.SessionTx) error {
		return tx.Compact(models.DefaultSlot, gen, 6, f.said(models.RoleSystem, "summary"), f.now)
	})
	equal(f, "context", f.context(key, models.DefaultSlot), []string{"summary", "to meanwhile", "meanwhile"})
}

func stoppedSummaries(f *fixture) {
	key := f.key()
	f.create(key, numbered("m", 6)...)
	f.slot(key, "work", numbered("w", 6)...)
	other := f.key()
	f.create(other, numbered("m", 6)...)
	generation := func(key, slot string) int64 {
		gen, err := f.Generation(f.ctx, key, slot)
		f.ok(err)
		equal(f, "generation", gen, f.load(key, slot).Generation)
		return gen
	}
	own, work, others := generation(key, models.DefaultSlot), generation(key, "work"), generation(other, models.DefaultSlot)
	f.change(key, func(tx store.SessionTx) error { return tx.StopSummaries() })
	for slot, gen := range map[string]int64{models.DefaultSlot: own, "work": work} {
		equal(f, "the generation changed", generation(key, slot) != gen, true)
		f.refuses(key, store.ErrConflict, func(tx store.SessionTx) error {
			return tx.Compact(slot, gen, 4, f.said(models.RoleSystem, "too late"), f.now)
		})
	}
	equal(f, "another session's", generation(other, models.DefaultSlot), others)
	f.compact(key, models.DefaultSlot, 4, "the next one")
	f.change(f.key(), func(tx store.SessionTx) error { return tx.StopSummaries() }) // it need not exist
	for _, c := range [][2]string{{key, "gone"}, {f.key(), models.DefaultSlot}} {
		_, err := f.Generation(f.ctx, c[0], c[1])
		f.fails(err, store.ErrNotFound)
	}
}

func summaryOfCurrentSlot(f *fixture) {
	key := f.key()
	f.create(key, numbered("m", 6)...)
	f.slot(key, "work", numbered("w", 6)...)
	summary := func(want string) {
		f.Helper()
		equal(f, "summary", f.session(key).CompactedSummary, want)
		page, _, err := f.ListSessions(f.ctx, store.SessionQuery{Text: key})
		f.ok(err)
		equal(f, "summary in a list", page[0].CompactedSummary, want)
	}
	f.compact(key, models.DefaultSlot, 4, "of the default slot")
	summary("of the default slot")
	f.change(key, func(tx store.SessionTx) error { return tx.SwitchSlot("work") })
	summary("")
	f.compact(key, models.DefaultSlot, 5, "of the default slot again")
	summary("")
	f.compact(key, "work", 4, "of the other slot")
	summary("of the other slot")
	f.change(key, func(tx store.SessionTx) error { return tx.Reset(models.DefaultSlot, 0, f.now) })
	summary("of the other slot")
	f.change(key, func(tx store.SessionTx) error { return tx.Reset("work", 0, f.now) })
	summary("")
	f.change(key, func(tx store.SessionTx) error { return tx.Restore("work", 0, f.now) })
	summary("of the other slot")
	f.change(key, func(tx store.SessionTx) error { return tx.SwitchSlot(models.DefaultSlot) })
	summary("")
	equal(f, "compactions", f.session(key).CompactionCount, 3)
}

func compactBounds(f *fixture) {
	key := f.key()
	f.create(key, numbered("m", 6)...)
	f.compact(key, models.DefaultSlot, 3, "summary")
	gen := f.load(key, models.DefaultSlot).Generation
	for _, through := range []int64{-1, 0, 2, 3, 8, 100} {
		f.refuses(key, store.ErrInvalid, func(tx store.SessionTx) error {
			return tx.Compact(models.DefaultSlot, gen, through, f.said(models.RoleSystem, "wrong"), f.now)
		})
	}
	f.refuses(key, store.ErrInvalid, func(tx store.SessionTx) error {
		return tx.Compact(models.DefaultSlot, gen, 4, f.said(models.RoleSystem, "\xff"), f.now)
	})
	f.refuses(key, store.ErrNotFound, func(tx store.SessionTx) error {
		return tx.Compact("gone", gen, 4, f.said(models.RoleSystem, "wrong"), f.now)
	})
	equal(f, "compactions", f.session(key).CompactionCount, 1)
}

func compactState(f *fixture) {
	state := func(key string, s models.SessionState) {
		f.change(key, func(tx store.SessionTx) error {
			session, err := tx.Session()
			if err != nil {
				return err
			}
			session.State = s
			return tx.Update(session, f.now)
		})
	}
	for from, want := range map[models.SessionState]models.SessionState{
		models.SessionActive: models.SessionCompacted, models.SessionIdle: models.SessionCompacted, models.SessionArchived: models.SessionArchived,
	} {
		key := f.key()
		f.create(key, numbered("m", 4)...)
		state(key, from)
		before := f.session(key)
		f.compact(key, models.DefaultSlot, 2, "summary")
		after := f.session(key)
		equal(f, "state after "+string(from), after.State, want)
		f.sameTime("lastUserAt", after.LastUserAt, before.LastUserAt)
		f.sameTime("lastActivityAt", after.LastActivityAt, before.LastActivityAt)
		f.turn(key, "again")
		equal(f, "state", f.session(key).State, models.SessionActive)
	}
	used := f.key()
	f.create(used, numbered("m", 4)...)
	f.start(used)
	f.compact(used, models.DefaultSlot, 2, "summary")
	equal(f, "state of a session in use", f.session(used).State, models.SessionActive)
}

func compactReset(f *fixture) {
	key := f.key()
	f.create(key, numbered("m", 4)...)
	f.compact(key, models.DefaultSlot, 2, "summary")
	f.reset(key, models.DefaultSlot)
	equal(f, "context", len(f.context(key, models.DefaultSlot)), 0)
	equal(f, "summary", f.session(key).CompactedSummary, "")
	f.add(key, "new")
	equal(f, "context", f.context(key, models.DefaultSlot), []string{"new"})
	f.change(key, func(tx store.SessionTx) error { return tx.Restore(models.DefaultSlot, 0, f.now) })
	equal(f, "context", f.context(key, models.DefaultSlot), []string{"summary", "m-3", "m-4"})
	equal(f, "summary", f.session(key).CompactedSummary, "summary")
	messages, _ := f.live(key, models.DefaultSlot)
	equal(f, "live", messages, 3)
	f.counted(key)
}

func compactDerived(f *fixture) {
	key := f.key()
	f.create(key, numbered("m", 4)...)
	f.compact(key, models.DefaultSlot, 2, "summary")
	f.derive(key, models.DefaultSlot, "copy", models.DeriveFull, nil)
	equal(f, "context of the copy", f.context(key, "copy"), []string{"summary", "m-3", "m-4"})
	messages, _ := f.live(key, "copy")
	equal(f, "live", messages, 3)
	f.compact(key, models.DefaultSlot, 4, "of the parent")
	equal(f, "context of the copy", f.context(key, "copy"), []string{"summary", "m-3", "m-4"})
	f.derive(key, models.DefaultSlot, "focused", models.DeriveFocused, &models.Focus{RecentMessages: 3})
	equal(f, "context of the focused", f.context(key, "focused"), []string{"m-2", "m-3", "m-4"})
	f.counted(key)
}

func compactUndo(f *fixture) {
	key := f.key()
	for _, text := range []string{"one", "two", "three"} {
		f.turn(key, text)
	}
	undo := func(tx store.SessionTx) error { return tx.UndoTurn(models.DefaultSlot, f.now) }
	f.compact(key, models.DefaultSlot, 4, "summary")
	f.change(key, undo)
	equal(f, "context", f.context(key, models.DefaultSlot), []string{"summary"})
	f.refuses(key, store.ErrNotFound, undo)
	f.counted(key)
	f.turn(key, "four")
	equal(f, "context", f.context(key, models.DefaultSlot), []string{"summary", "to four", "four"})
}
