package storetest

import (
	"fmt"
	"strings"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func (f *fixture) freeze(key, slot string, forms ...store.PrunedForm) {
	f.Helper()
	f.change(key, func(tx store.SessionTx) error { return tx.Freeze(slot, forms) })
}

func freezeForms(f *fixture) {
	key := f.key()
	f.create(key, numbered("m", 6)...)
	equal(f, "forms", len(f.load(key, models.DefaultSlot).Forms), 0)
	two := store.PrunedForm{Seq: 2, Pruned: "soft", Content: "短 😀"}
	five := store.PrunedForm{Seq: 5, Pruned: "hard", Content: ""}
	f.freeze(key, models.DefaultSlot, two)
	f.freeze(key, models.DefaultSlot, store.PrunedForm{Seq: 2, Pruned: "hard", Content: "too late"}, five, store.PrunedForm{Seq: 5, Pruned: "soft", Content: "twice"})
	want := map[int64]store.PrunedForm{2: two, 5: five}
	equal(f, "forms", f.load(key, models.DefaultSlot).Forms, want)
	equal(f, "history", f.history(key, models.DefaultSlot), numbered("m", 6))
	c, err := f.LoadContext(f.ctx, key, models.DefaultSlot, 3)
	f.ok(err)
	equal(f, "forms of the newest", c.Forms, map[int64]store.PrunedForm{5: five})
	f.freeze(key, models.DefaultSlot)

	f.derive(key, models.DefaultSlot, "copy", models.DeriveFull, nil)
	equal(f, "forms of the copy", f.load(key, "copy").Forms, want)
	f.freeze(key, "copy", store.PrunedForm{Seq: 3, Pruned: "soft", Content: "of the copy"})
	equal(f, "forms of the parent", f.load(key, models.DefaultSlot).Forms, want)
	for _, wrong := range []store.PrunedForm{{Seq: 0, Pruned: "soft"}, {Seq: 7, Pruned: "soft"}, {Seq: 1}, {Seq: 1, Pruned: "soft", Content: "\xff"}} {
		f.refuses(key, store.ErrInvalid, func(tx store.SessionTx) error { return tx.Freeze(models.DefaultSlot, []store.PrunedForm{wrong}) })
	}
	f.refuses(key, store.ErrNotFound, func(tx store.SessionTx) error { return tx.Freeze("gone", []store.PrunedForm{two}) })

	// What is not shown at all has no form to keep.
	omitted := store.PrunedForm{Seq: 2, Pruned: store.PrunedOmitted}
	f.freeze(key, models.DefaultSlot, omitted, store.PrunedForm{Seq: 6, Pruned: "soft", Content: "six"}, store.PrunedForm{Seq: 6, Pruned: store.PrunedOmitted})
	f.freeze(key, models.DefaultSlot, two, omitted)
	equal(f, "forms", f.load(key, models.DefaultSlot).Forms, map[int64]store.PrunedForm{2: omitted, 5: five, 6: {Seq: 6, Pruned: store.PrunedOmitted}})
}

// firstSystem reads the system message that a focused slot begins with.
func firstSystem(f *fixture) {
	key := f.key()
	f.create(key, "hello")
	say := func(slot string, messages ...*models.SessionMessage) {
		f.change(key, func(tx store.SessionTx) error { return tx.Append(slot, messages, f.now) })
	}
	find := func(slot string, limit int) string {
		c, err := f.LoadContext(f.ctx, key, slot, limit)
		f.ok(err)
		if c.FirstSystem == nil {
			return ""
		}
		equal(f, "messages", len(c.Messages), limit)
		return c.FirstSystem.Content
	}
	focus := &models.Focus{KeepSystem: true, RecentMessages: 2}
	f.change(key, func(tx store.SessionTx) error {
		return tx.CreateSlot(&models.ContextSlot{ID: "work", Mode: models.SlotFocused, Focused: focus, Compact: true, CreatedAt: f.now})
	})
	equal(f, "of an empty slot", find("work", 2), "")
	say("work", f.said(models.RoleUser, "one"), f.said(models.RoleSystem, "rules"), f.said(models.RoleUser, "two"))
	equal(f, "among the newest", find("work", 2), "")
	for range 3 {
		say("work", f.said(models.RoleUser, "more"), f.said(models.RoleSystem, "later"))
	}
	equal(f, "before them", find("work", 2), "rules")
	equal(f, "among all", find("work", 100), "")
	f.compact(key, "work", 5, "summary")
	equal(f, "compacted", find("work", 2), "rules")
	f.dropped(key, "work", 2)
	equal(f, "of what is left", find("work", 2), "later")
	f.change(key, func(tx store.SessionTx) error {
		return tx.UpdateSlot(&models.ContextSlot{ID: "work", Mode: models.SlotFull, Focused: focus, Compact: true})
	})
	equal(f, "not focused", find("work", 2), "")
}

func freezeReset(f *fixture) {
	key := f.key()
	f.create(key, numbered("m", 3)...)
	form := store.PrunedForm{Seq: 2, Pruned: "soft", Content: "short"}
	f.freeze(key, models.DefaultSlot, form)
	f.reset(key, models.DefaultSlot)
	f.add(key, numbered("new", 3)...)
	equal(f, "forms", len(f.load(key, models.DefaultSlot).Forms), 0)
	f.change(key, func(tx store.SessionTx) error { return tx.Restore(models.DefaultSlot, 0, f.now) })
	equal(f, "forms", f.load(key, models.DefaultSlot).Forms, map[int64]store.PrunedForm{2: form})
}

func freezeTurn(f *fixture) {
	key := f.key()
	f.turn(key, "one")
	form := store.PrunedForm{Seq: 2, Pruned: "soft", Content: "short"}
	with := func(forms ...store.PrunedForm) func(*store.TurnCommit) {
		return func(c *store.TurnCommit) { c.Forms = forms }
	}
	turn := f.start(key)
	for _, wrong := range []store.PrunedForm{{Seq: 3, Pruned: "soft"}, {Seq: 0, Pruned: "soft"}, {Seq: 1}} {
		_, err := f.CommitTurn(f.ctx, f.answer(turn, "two", with(wrong)))
		f.fails(err, store.ErrInvalid)
	}
	f.commit(f.answer(turn, "two", with(form)))
	f.commit(f.answer(f.start(key), "three", with(store.PrunedForm{Seq: 2, Pruned: "hard"}, store.PrunedForm{Seq: 4, Pruned: "hard"})))
	equal(f, "forms", f.load(key, models.DefaultSlot).Forms, map[int64]store.PrunedForm{2: form, 4: {Seq: 4, Pruned: "hard"}})
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to one", "one", "to two", "two", "to three", "three"})

	// A turn that was reset away freezes nothing.
	lost := f.start(key)
	f.reset(key, models.DefaultSlot)
	f.turn(f.key(), "other")
	if _, err := f.CommitTurn(f.ctx, f.answer(lost, "lost", with(store.PrunedForm{Seq: 1, Pruned: "soft"}))); err == nil {
		f.Fatalf("a turn was committed into a context that was reset")
	}
	f.change(key, func(tx store.SessionTx) error { return tx.Restore(models.DefaultSlot, 0, f.now) })
	equal(f, "forms", len(f.load(key, models.DefaultSlot).Forms), 2)
}

func (f *fixture) dropped(key, slot string, through int64) (n int) {
	f.Helper()
	f.change(key, func(tx store.SessionTx) (err error) {
		n, err = tx.DropMessages(slot, through, f.now)
		return err
	})
	return n
}

func drop(f *fixture) {
	key := f.key()
	f.create(key, numbered("m", 6)...)
	f.slot(key, "work", "other")
	f.freeze(key, models.DefaultSlot, store.PrunedForm{Seq: 2, Pruned: "soft"}, store.PrunedForm{Seq: 5, Pruned: "soft"})
	before := f.session(key)
	equal(f, "dropped", f.dropped(key, models.DefaultSlot, 3), 3)
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"m-4", "m-5", "m-6"})
	equal(f, "context", f.context(key, models.DefaultSlot), []string{"m-4", "m-5", "m-6"})
	equal(f, "forms", len(f.load(key, models.DefaultSlot).Forms), 1)
	equal(f, "other slot", f.history(key, "work"), []string{"other"})
	f.sameTime("lastActivityAt", f.session(key).LastActivityAt, before.LastActivityAt)
	f.counted(key)
	equal(f, "dropped again", f.dropped(key, models.DefaultSlot, 3), 0)
	f.add(key, "m-7")
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"m-4", "m-5", "m-6", "m-7"})
	equal(f, "dropped all", f.dropped(key, models.DefaultSlot, 1000), 4)
	f.add(key, "m-8")
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"m-8"})
	f.counted(key)
	f.refuses(key, store.ErrNotFound, func(tx store.SessionTx) error { _, err := tx.DropMessages("gone", 1, f.now); return err })
}

func dropCompacted(f *fixture) {
	key := f.key()
	f.create(key, numbered("m", 6)...)
	f.compact(key, models.DefaultSlot, 2, "first")
	f.compact(key, models.DefaultSlot, 4, "second")
	messages, tokens := f.live(key, models.DefaultSlot)
	f.dropped(key, models.DefaultSlot, 3)
	equal(f, "context", f.context(key, models.DefaultSlot), []string{"second", "m-5", "m-6"})
	after, afterTokens := f.live(key, models.DefaultSlot)
	equal(f, "live", [...]int{after, afterTokens}, [...]int{messages, tokens})
	f.dropped(key, models.DefaultSlot, 1000)
	equal(f, "context", f.context(key, models.DefaultSlot), []string{"second"})
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"second"})
	after, afterTokens = f.live(key, models.DefaultSlot)
	equal(f, "live", [...]int{after, afterTokens}, [...]int{1, len("second")})
	f.counted(key)
}

func (f *fixture) merge(key, from, into string) (n int) {
	f.Helper()
	f.change(key, func(tx store.SessionTx) (err error) {
		n, err = tx.MergeSlot(from, into, f.now)
		return err
	})
	return n
}

func mergeSlot(f *fixture) {
	key := f.key()
	f.turn(key, "one")
	f.derive(key, models.DefaultSlot, "branch", models.DeriveFull, nil)
	f.turn(key, "two")
	f.change(key, func(tx store.SessionTx) error { return tx.SwitchSlot("branch") })
	for _, text := range []string{"three", "undone"} {
		f.turn(key, text)
	}
	f.change(key, func(tx store.SessionTx) error { return tx.UndoTurn("branch", f.now) })
	f.turn(key, "four")
	f.compact(key, "branch", 4, "summary")
	branch := f.history(key, "branch")
	equal(f, "merged", f.merge(key, "branch", models.DefaultSlot), 4)
	want := []string{"to one", "one", "to two", "two", "to three", "three", "to four", "four"}
	equal(f, "history", f.history(key, models.DefaultSlot), want)
	equal(f, "context", f.context(key, models.DefaultSlot), want)
	equal(f, "branch", f.history(key, "branch"), branch)
	f.counted(key)

	// They are ordinary messages there: whole turns, and others follow.
	f.change(key, func(tx store.SessionTx) error { return tx.SwitchSlot(models.DefaultSlot) })
	f.change(key, func(tx store.SessionTx) error { return tx.UndoTurn(models.DefaultSlot, f.now) })
	f.turn(key, "five")
	equal(f, "history", f.history(key, models.DefaultSlot), append(want[:6:6], "to five", "five"))
	f.counted(key)
}

func slotMergeAgain(f *fixture) {
	key := f.key()
	f.create(key, "one")
	f.derive(key, models.DefaultSlot, "branch", models.DeriveFull, nil)
	equal(f, "merged", f.merge(key, "branch", models.DefaultSlot), 0)
	f.change(key, func(tx store.SessionTx) error { return tx.SwitchSlot("branch") })
	f.add(key, "two")
	equal(f, "merged", f.merge(key, "branch", models.DefaultSlot), 1)
	equal(f, "merged again", f.merge(key, "branch", models.DefaultSlot), 0)
	equal(f, "merged through", f.load(key, "branch").MergedThrough, 2)
	f.add(key, "merged otherwise")
	f.change(key, func(tx store.SessionTx) error { return tx.MarkMerged("branch", 3) })
	equal(f, "merged through", f.load(key, "branch").MergedThrough, 3)
	f.change(key, func(tx store.SessionTx) error { return tx.MarkMerged("branch", 1) })
	equal(f, "it never goes back", f.load(key, "branch").MergedThrough, 3)
	f.refuses(key, store.ErrNotFound, func(tx store.SessionTx) error { return tx.MarkMerged("gone", 1) })
	f.add(key, "three")
	equal(f, "merged", f.merge(key, "branch", models.DefaultSlot), 1)
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"one", "two", "three"})
	f.reset(key, "branch")
	f.add(key, "after the reset")
	equal(f, "merged", f.merge(key, "branch", models.DefaultSlot), 1)
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"one", "two", "three", "after the reset"})
	f.derive(key, models.DefaultSlot, "focused", models.DeriveFocused, &models.Focus{RecentMessages: 1})
	equal(f, "merged", f.merge(key, "focused", models.DefaultSlot), 0)
	f.slot(key, "new", "a", "b")
	equal(f, "merged", f.merge(key, "new", "branch"), 2)
	equal(f, "branch", f.history(key, "branch"), []string{"after the reset", "a", "b"})
	f.counted(key)
}

func mergeRefused(f *fixture) {
	key := f.key()
	f.create(key, "one")
	f.slot(key, "work", "two")
	for _, c := range []struct {
		from, into string
		want       error
	}{{"work", "work", store.ErrInvalid}, {"gone", "work", store.ErrNotFound}, {"work", "gone", store.ErrNotFound}} {
		f.Log(fmt.Sprint(c.from, " into ", c.into))
		f.refuses(key, c.want, func(tx store.SessionTx) error { _, err := tx.MergeSlot(c.from, c.into, f.now); return err })
	}
	f.counted(key)
}

// contextPictures stores more pictures than a context is read with.
func contextPictures(f *fixture) {
	key := f.key()
	for i := range 4 {
		turn := f.start(key)
		picture := "data:image/png;base64," + strings.Repeat("A", 4<<20)
		f.commit(f.answer(turn, "answer", func(c *store.TurnCommit) {
			c.Messages[0].Images, c.Messages[0].SenderName = []string{picture}, fmt.Sprintf("sender %d", i)
		}))
	}
	got, err := f.LoadContext(f.ctx, key, "", 100)
	f.ok(err)
	var with, without []string
	for _, m := range got.Messages {
		switch {
		case m.ImagesOmitted:
			without = append(without, m.SenderName)
			equal(f, "pictures", len(m.Images), 0)
		case len(m.Images) > 0:
			with = append(with, m.SenderName)
		}
	}
	equal(f, "with their pictures", with, []string{"sender 2", "sender 3"})
	equal(f, "without", without, []string{"sender 0", "sender 1"})
}
