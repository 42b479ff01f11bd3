package storetest

import (
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func historyTests() []test {
	return []test{
		{"NewestOldestFirst", historyNewest},
		{"PagesBackwards", historyPages},
		{"OrderIsTheSequence", historyOrder},
		{"UndoneIsLeftOutOfPages", historyUndone},
		{"UnknownIsNotFound", historyUnknown},
		{"Context", historyContext},
		{"ContextOfANewSession", historyContextNew},
	}
}

func historyNewest(f *fixture) {
	key := f.key()
	all := numbered("m", 20)
	f.create(key, all...)
	for _, limit := range []int{1, 7, 20, 50} {
		messages, err := f.Messages(f.ctx, key, models.DefaultSlot, 0, limit)
		f.ok(err)
		equal(f, fmt.Sprintf("newest %d", limit), contents(messages), all[max(0, 20-limit):])
	}
}

func historyPages(f *fixture) {
	key := f.key()
	all := numbered("m", 20)
	f.create(key, all...)
	var got []string
	before := int64(0)
	for range 10 {
		messages, err := f.Messages(f.ctx, key, models.DefaultSlot, before, 6)
		f.ok(err)
		if len(messages) == 0 {
			break
		}
		got = append(contents(messages), got...)
		before = messages[0].Seq
	}
	equal(f, "messages", got, all)
}

// Times say nothing about order: they may be equal, or go backwards.
func historyOrder(f *fixture) {
	key := f.key()
	f.create(key)
	var want []string
	for i := range 6 {
		m := f.said(models.RoleUser, fmt.Sprintf("m-%d", i))
		m.CreatedAt = f.at(time.Duration(-i/2) * time.Minute)
		f.ok(f.AppendMessages(f.ctx, key, []*models.SessionMessage{m}))
		want = append(want, m.Content)
	}
	equal(f, "history", f.history(key, models.DefaultSlot), want)
}

func historyUndone(f *fixture) {
	key := f.key()
	for _, text := range numbered("turn", 6) {
		f.turn(key, text)
	}
	f.change(key, func(tx store.SessionTx) error { return tx.UndoTurn(models.DefaultSlot, f.now) })
	f.change(key, func(tx store.SessionTx) error { return tx.UndoTurn(models.DefaultSlot, f.now) })
	messages, err := f.Messages(f.ctx, key, models.DefaultSlot, 0, 4)
	f.ok(err)
	equal(f, "newest", contents(messages), []string{"to turn-3", "turn-3", "to turn-4", "turn-4"})
}

func historyUnknown(f *fixture) {
	key := f.key()
	_, err := f.Messages(f.ctx, key, models.DefaultSlot, 0, 10)
	f.fails(err, store.ErrNotFound)
	f.create(key)
	_, err = f.Messages(f.ctx, key, "gone", 0, 10)
	f.fails(err, store.ErrNotFound)
	messages, err := f.Messages(f.ctx, key, models.DefaultSlot, 0, 10)
	f.ok(err)
	equal(f, "messages", len(messages), 0)
}

func historyContext(f *fixture) {
	key := f.key()
	f.create(key, numbered("m", 10)...)
	f.slot(key, "work", "other")
	c, err := f.LoadContext(f.ctx, key, models.DefaultSlot, 3)
	f.ok(err)
	equal(f, "messages", contents(c.Messages), []string{"m-8", "m-9", "m-10"})
	if c.Session == nil || c.Session.Key != key || c.Slot == nil || c.Slot.ID != models.DefaultSlot {
		f.Fatalf("context is %+v", c)
	}
	equal(f, "slot", [...]any{c.Slot.MessageCount, c.Slot.SessionKey, c.Slot.Current}, [...]any{10, key, true})
	c, err = f.LoadContext(f.ctx, key, "work", 3)
	f.ok(err)
	equal(f, "messages", contents(c.Messages), []string{"other"})
	equal(f, "current", c.Slot.Current, false)
	c, err = f.LoadContext(f.ctx, key, "gone", 3)
	f.ok(err)
	if c.Slot != nil || len(c.Messages) != 0 || c.Session == nil {
		f.Fatalf("context of a slot that is not there: %+v", c)
	}
}

func historyContextNew(f *fixture) {
	key := f.key()
	f.start(key)
	c, err := f.LoadContext(f.ctx, key, models.DefaultSlot, 3)
	f.ok(err)
	if c.Session != nil || c.Slot != nil || len(c.Messages) != 0 || c.ObservedSeq != 0 {
		f.Fatalf("context of a session that does not exist: %+v", c)
	}
}
