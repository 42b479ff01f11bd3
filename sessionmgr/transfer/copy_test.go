package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/transfer"
	"github.com/chatkeep/chatkeep/store"
)

func keyOf(i int) string {
	return fmt.Sprintf("agent:a:channel:any:scope:per_peer:api/default/u%d", i)
}

func accept(t *testing.T, s store.Store, key, id string) {
	t.Helper()
	if _, err := s.Accept(t.Context(), &store.AcceptRequest{
		Inbound:   models.Inbound{ID: id, SessionKey: key, Channel: "api", Account: "default", Kind: models.KindMessage, ReceivedAt: day, Payload: []byte("{}")},
		DedupKeys: []string{"seen " + id},
		Aliases:   []store.ThreadAlias{{Channel: "feishu", Account: "main", Alias: "om_" + id, Thread: "omt_1"}},
	}); err != nil {
		t.Fatal(err)
	}
}

// Everything goes from any store to any other, and once more changes nothing.
func TestCopyAll(t *testing.T) {
	all := stores(t)
	kinds := slices.Sorted(maps.Keys(all))
	first := all[kinds[0]]
	const n = 12
	for i := range n {
		talk(t, first, keyOf(i), 3)
	}
	if err := first.CreateTask(t.Context(), &models.Task{ID: "standup", Owner: models.OwnerAdmin, Schedule: "0 9 * * *", Timezone: "UTC", Prompt: "go", CreatedAt: day}); err != nil {
		t.Fatal(err)
	}
	accept(t, first, keyOf(0), "inb_1")
	if _, err := transfer.CopyAll(t.Context(), first, all[kinds[1]], transfer.CopyOptions{}); !errors.Is(err, transfer.ErrPending) || !strings.Contains(err.Error(), "1 messages and 0 deliveries") {
		t.Fatalf("a message waits: %v", err)
	}
	if err := first.ChangeSession(t.Context(), keyOf(0), func(tx store.SessionTx) error {
		return tx.Finish([]string{"inb_1"}, store.Outcome{State: models.InboundCancelled}, day)
	}); err != nil {
		t.Fatal(err)
	}
	for i, from := range kinds {
		to := kinds[(i+1)%len(kinds)]
		if i == len(kinds)-1 {
			break
		}
		got, err := transfer.CopyAll(t.Context(), all[from], all[to], transfer.CopyOptions{})
		if err != nil || got.Sessions != n || got.Copied != n || got.Present != 0 || got.Rows != got.AddedRows || got.Rows < 3 {
			t.Fatalf("%s to %s: %+v, %v", from, to, got, err)
		}
		got, err = transfer.CopyAll(t.Context(), all[from], all[to], transfer.CopyOptions{})
		if err != nil || got.Sessions != n || got.Copied != 0 || got.Present != n || got.AddedRows != 0 {
			t.Fatalf("%s to %s again: %+v, %v", from, to, got, err)
		}
	}
	last := all[kinds[len(kinds)-1]]
	if task, err := last.Task(t.Context(), "standup"); err != nil || task.Prompt != "go" {
		t.Errorf("%+v, %v", task, err)
	}
	if thread, err := last.ResolveThread(t.Context(), "feishu", "main", []string{"om_inb_1"}); err != nil || thread != "omt_1" {
		t.Errorf("thread %q, %v", thread, err)
	}
	if fresh, err := last.Tombstone(t.Context(), "seen inb_1"); err != nil || fresh {
		t.Errorf("a message that was seen is new: %v", err)
	}
}

func TestCopyAllRefuses(t *testing.T) {
	from, to := newMemory(t), newMemory(t)
	talk(t, from, keyOf(1), 1)
	talk(t, from, keyOf(2), 1)
	talk(t, to, keyOf(2), 2)
	if _, err := transfer.CopyAll(t.Context(), from, from, transfer.CopyOptions{}); !errors.Is(err, transfer.ErrSame) {
		t.Errorf("onto itself: %v", err)
	}
	got, err := transfer.CopyAll(t.Context(), from, to, transfer.CopyOptions{})
	if !errors.Is(err, transfer.ErrFailed) || got.Copied != 1 || len(got.Failed) != 1 || got.Failed[0].Key != keyOf(2) || !strings.Contains(got.Failed[0].Error, "another session") {
		t.Errorf("over another session: %+v, %v", got, err)
	}
	if r, err := to.SessionRecord(t.Context(), keyOf(2)); err != nil || r.Session.MessageCount != 4 {
		t.Errorf("it is now %+v, %v", r, err)
	}
	accept(t, from, keyOf(3), "inb_1")
	if got, err := transfer.CopyAll(t.Context(), from, newMemory(t), transfer.CopyOptions{LeavePending: true}); err != nil || got.Pending.Messages != 1 || got.Copied != 2 {
		t.Errorf("with what waits left behind: %+v, %v", got, err)
	}
}

// busy changes a session whenever its messages are read.
type busy struct {
	store.Store
	t     *testing.T
	times int
}

func (b *busy) MessageRecords(ctx context.Context, ref string, after int64, limit int) ([]*store.MessageRecord, error) {
	if b.times > 0 {
		b.times--
		m := &models.SessionMessage{ID: models.NewMessageID(day.Add(time.Duration(b.times))), Role: models.RoleUser, CreatedAt: day}
		if err := b.AppendMessages(ctx, keyOf(1), []*models.SessionMessage{m}); err != nil {
			b.t.Error(err)
		}
	}
	return b.Store.MessageRecords(ctx, ref, after, limit)
}

// A session that changes while it is copied is copied again, and given up at last.
func TestCopyOfABusySession(t *testing.T) {
	from, to := newMemory(t), newMemory(t)
	talk(t, from, keyOf(1), 1)
	if copied, err := transfer.Copy(t.Context(), &busy{from, t, 1000}, to, keyOf(1)); !errors.Is(err, transfer.ErrInUse) || copied {
		t.Errorf("%v, %v", copied, err)
	}
	if _, err := to.Session(t.Context(), keyOf(1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("something was copied: %v", err)
	}
	if copied, err := transfer.Copy(t.Context(), &busy{from, t, 2}, to, keyOf(1)); err != nil || !copied {
		t.Errorf("%v, %v", copied, err)
	}
}

// lossy forgets what somebody said.
type lossy struct{ store.Store }

func (l *lossy) MessageRecords(ctx context.Context, ref string, after int64, limit int) ([]*store.MessageRecord, error) {
	messages, err := l.Store.MessageRecords(ctx, ref, after, limit)
	for _, m := range messages {
		m.SenderAltIDs = nil
	}
	return messages, err
}

// A store that keeps less than it was given is found out.
func TestCopyIsVerified(t *testing.T) {
	from, to := newMemory(t), newMemory(t)
	talk(t, from, keyOf(1), 1)
	m := &models.SessionMessage{ID: "msg_x", Role: models.RoleUser, CreatedAt: day, SenderAltIDs: []string{"x"}}
	if err := from.AppendMessages(t.Context(), keyOf(1), []*models.SessionMessage{m}); err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Copy(t.Context(), from, &lossy{to}, keyOf(1)); !errors.Is(err, transfer.ErrCorrupt) {
		t.Errorf("%v", err)
	}
}
