package storetest

import (
	"errors"
	"slices"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func changeSeveral(f *fixture) {
	one, two, unknown := f.key(), f.key(), f.key()
	f.create(one, "first")
	f.create(two, "first")
	several := func(change func(key string, tx store.SessionTx) error) (called []string, err error) {
		err = f.ChangeSessions(f.ctx, []string{two, unknown, one}, func(key string, tx store.SessionTx) error {
			called = append(called, key)
			f.ok(tx.Append(models.DefaultSlot, []*models.SessionMessage{f.said(models.RoleUser, "to "+key)}, f.now))
			return change(key, tx)
		})
		slices.Sort(called)
		return called, err
	}
	boom := errors.New("boom")
	_, err := several(func(key string, _ store.SessionTx) error {
		if key == one {
			return boom
		}
		return nil
	})
	f.fails(err, boom)
	for _, key := range []string{one, two} {
		equal(f, "after an error", f.history(key, models.DefaultSlot), []string{"first"})
	}
	called, err := several(func(string, store.SessionTx) error { return nil })
	f.ok(err)
	both := []string{one, two}
	slices.Sort(both)
	equal(f, "sessions", called, both)
	for _, key := range both {
		equal(f, "history", f.history(key, models.DefaultSlot), []string{"first", "to " + key})
	}
	f.ok(f.ChangeSessions(f.ctx, nil, func(string, store.SessionTx) error { return boom }))
}

func untouched(f *fixture) {
	ask := func(key string, read *store.SessionContext) (same bool) {
		f.change(key, func(tx store.SessionTx) (err error) {
			same, err = tx.Untouched(read)
			return err
		})
		return same
	}
	for what, touch := range map[string]func(key string){
		"waiting":   func(key string) { f.waiting(key) },
		"answered":  func(key string) { f.turn(key, "meanwhile") },
		"appended":  func(key string) { f.add(key, "meanwhile") },
		"compacted": func(key string) { f.compact(key, models.DefaultSlot, 2, "meanwhile") },
		"reset":     func(key string) { f.reset(key, models.DefaultSlot) },
		"deleted":   func(key string) { f.delete(key) },
		"read-only": func(key string) { f.readonly(key) },
		"being summarised": func(key string) {
			command := f.waiting(key, kind(models.KindCommand))
			f.change(key, func(tx store.SessionTx) error { return tx.Defer(command.ID, models.DefaultSlot, claim()) })
		},
	} {
		f.Log(what)
		key := f.key()
		f.create(key, numbered("m", 6)...)
		read := f.load(key, models.DefaultSlot)
		equal(f, "read and left alone", ask(key, read), true)
		touch(key)
		equal(f, what, ask(key, read), false)
	}
	key := f.key()
	f.create(key, numbered("m", 6)...)
	f.slot(key, "work", "note")
	read := f.load(key, "work")
	f.add(key, "in another slot")
	equal(f, "with something in another slot", ask(key, read), true)
}

func (f *fixture) readonly(key string) {
	f.Helper()
	f.change(key, func(tx store.SessionTx) error {
		return tx.UpdateSlot(&models.ContextSlot{ID: models.DefaultSlot, Mode: models.SlotReadonly})
	})
}
