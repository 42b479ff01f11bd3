package storagetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr"
)

const writers = 8

func testConcurrentCreators(t *testing.T, s sessionmgr.SessionStorage) {
	ctx := t.Context()
	for round := range 5 {
		user := fmt.Sprint("u", round)
		var created atomic.Int32
		var wg sync.WaitGroup
		for i := range writers {
			session := newSession(t, user)
			session.Title = fmt.Sprint("of ", i)
			wg.Go(func() {
				switch err := s.Create(ctx, session); {
				case err == nil:
					created.Add(1)
				case !errors.Is(err, sessionmgr.ErrSessionExists):
					t.Errorf("a losing creator got %v", err)
				}
			})
		}
		wg.Wait()
		if n := created.Load(); n != 1 {
			t.Errorf("%d creators succeeded, want 1", n)
		}
	}
}

func testConcurrentAppends(t *testing.T, s sessionmgr.SessionStorage) {
	ctx := t.Context()
	session := create(t, s, "u")
	const each = 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				m := message(w*each + i)
				m.SenderID = fmt.Sprint(w)
				if err := s.AddMessage(ctx, session.Key, m); err != nil {
					t.Error(err)
					return
				}
				if _, err := s.GetHistory(ctx, session.Key, 5); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	got := history(t, s, session.Key, 0)
	if len(got) != writers*each {
		t.Fatalf("%d messages, want %d", len(got), writers*each)
	}
	last := map[string]string{}
	seen := map[string]bool{}
	for _, m := range got {
		if seen[m.ID] {
			t.Errorf("%s is there twice", m.ID)
		}
		seen[m.ID] = true
		if m.ID <= last[m.SenderID] {
			t.Errorf("writer %s: %s comes after %s", m.SenderID, m.ID, last[m.SenderID])
		}
		last[m.SenderID] = m.ID
	}
}

func testConcurrentSessions(t *testing.T, s sessionmgr.SessionStorage) {
	ctx := t.Context()
	var wg sync.WaitGroup
	for w := range writers {
		session := newSession(t, fmt.Sprint("u", w))
		wg.Go(func() {
			if err := errors.Join(useAll(t, s, session)...); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := list(ctx, t, s, sessionmgr.SessionQuery{}); len(got) != writers/2 {
		t.Errorf("%d sessions are left, want %d", len(got), writers/2)
	}
}

// useAll calls every method for a session and deletes every other one.
func useAll(t *testing.T, s sessionmgr.SessionStorage, session *models.Session) []error {
	ctx := t.Context()
	errs := []error{s.Create(ctx, session)}
	for i := range 5 {
		errs = append(errs, s.AddMessage(ctx, session.Key, message(i)))
		read, err := s.Get(ctx, session.Key)
		if err != nil {
			return append(errs, err)
		}
		read.Title = fmt.Sprint(i)
		_, listErr := s.List(ctx, sessionmgr.SessionQuery{Limit: 3})
		errs = append(errs, s.Update(ctx, read), listErr)
	}
	messages, err := s.GetHistory(ctx, session.Key, 0)
	errs = append(errs, err)
	if len(messages) != 5 {
		errs = append(errs, fmt.Errorf("%d messages, want 5", len(messages)))
	}
	if (session.Key[len(session.Key)-1]-'0')%2 == 0 {
		errs = append(errs, s.Delete(ctx, session.Key))
	}
	return errs
}
