package storetest

import (
	"errors"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func sessionTests() []test {
	return []test{
		{"CreateOnce", sessionCreate},
		{"CreateOnceInARace", sessionCreateRace},
		{"Append", sessionAppend},
		{"AppendAllOrNone", sessionAppendNone},
		{"AppendInARace", sessionAppendRace},
	}
}

func sessionCreate(f *fixture) {
	key := f.key()
	_, err := f.Session(f.ctx, key)
	f.fails(err, store.ErrNotFound)
	s := f.newSession(key)
	s.Title, s.Model, s.SystemPrompt, s.Pinned = "标题 😀", "deepseek-chat", "Be brief.", true
	s.LastUserAt = f.at(-time.Minute)
	f.ok(f.CreateSession(f.ctx, s))
	f.fails(f.CreateSession(f.ctx, s), store.ErrExists)
	got := f.session(key)
	for _, c := range []struct {
		what      string
		got, want time.Time
	}{
		{"createdAt", got.CreatedAt, s.CreatedAt}, {"lastActivityAt", got.LastActivityAt, s.LastActivityAt},
		{"updatedAt", got.UpdatedAt, s.UpdatedAt}, {"lastUserAt", got.LastUserAt, s.LastUserAt},
	} {
		f.sameTime(c.what, c.got, c.want)
	}
	got.CreatedAt, got.LastActivityAt, got.UpdatedAt, got.LastUserAt = s.CreatedAt, s.LastActivityAt, s.UpdatedAt, s.LastUserAt
	equal(f, "session", *got, *s)
	equal(f, "history", len(f.history(key, models.DefaultSlot)), 0)
	got.Title = "changed by the caller"
	equal(f, "title", f.session(key).Title, s.Title)
}

func sessionCreateRace(f *fixture) {
	const racers = 8
	for range 5 {
		key := f.key()
		errs := make([]error, racers)
		race(racers, func(i int) { errs[i] = f.CreateSession(f.ctx, f.newSession(key)) })
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else {
				f.fails(err, store.ErrExists)
			}
		}
		equal(f, "creators", won, 1)
	}
}

func sessionAppend(f *fixture) {
	key := f.key()
	f.create(key)
	f.slot(key, "work")
	messages := []*models.SessionMessage{f.said(models.RoleUser, "one"), f.said(models.RoleAssistant, "two")}
	f.ok(f.AppendMessages(f.ctx, key, messages))
	for i, m := range messages {
		equal(f, "slot", m.Slot, models.DefaultSlot)
		equal(f, "seq", m.Seq, int64(i+1))
	}
	named := f.said(models.RoleUser, "elsewhere")
	named.Slot = "work"
	f.ok(f.AppendMessages(f.ctx, key, []*models.SessionMessage{named}))
	f.change(key, func(tx store.SessionTx) error { return tx.SwitchSlot("work") })
	f.add(key, "in the current slot")
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"one", "two"})
	equal(f, "history", f.history(key, "work"), []string{"elsewhere", "in the current slot"})
	s := f.session(key)
	equal(f, "messages", s.MessageCount, 4)
	equal(f, "tokens", s.TotalTokenCount, len("onetwoelsewherein the current slot"))
	f.fails(f.AppendMessages(f.ctx, f.key(), []*models.SessionMessage{f.said(models.RoleUser, "lost")}), store.ErrNotFound)
}

func sessionAppendNone(f *fixture) {
	key := f.key()
	f.create(key, "before")
	bad := f.said(models.RoleUser, "no such slot")
	bad.Slot = "gone"
	f.fails(f.AppendMessages(f.ctx, key, []*models.SessionMessage{bad}), store.ErrNotFound)
	f.fails(f.AppendMessages(f.ctx, key, []*models.SessionMessage{f.said(models.RoleUser, "good"), f.said(models.RoleUser, "\xff")}), store.ErrInvalid)
	f.ok(f.AppendMessages(f.ctx, key, nil))
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"before"})
	equal(f, "messages", f.session(key).MessageCount, 1)
}

func sessionAppendRace(f *fixture) {
	const racers, rounds = 8, 5
	key := f.key()
	f.create(key)
	errs := make([]error, racers)
	race(racers, func(i int) {
		for range rounds {
			pair := []*models.SessionMessage{f.said(models.RoleUser, "question"), f.said(models.RoleAssistant, "answer")}
			errs[i] = errors.Join(errs[i], f.AppendMessages(f.ctx, key, pair))
		}
	})
	f.ok(errors.Join(errs...))
	got := f.history(key, models.DefaultSlot)
	equal(f, "messages", len(got), racers*rounds*2)
	for i, text := range got { // pairs were written together
		equal(f, "message", text, []string{"question", "answer"}[i%2])
	}
	equal(f, "message count", f.session(key).MessageCount, racers*rounds*2)
}
