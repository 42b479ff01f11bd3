package gormstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
	"github.com/chatkeep/chatkeep/store/storetest"
)

// maxLoad is how many statements read all that a turn starts from.
const maxLoad = 3

// contextSteps are what is done to the context of a session, and what the jobs do.
func contextSteps(ctx context.Context, s store.Store, now time.Time) []func() error {
	change := func(do func(tx store.SessionTx) error) func() error {
		return func() error { return s.ChangeSession(ctx, "agent:a", do) }
	}
	summary := storetest.NewSessionMessage(models.RoleSystem, "summary", now)
	return []func() error{
		change(func(tx store.SessionTx) error { return tx.PutNote(&models.Note{Key: "a", Value: "b"}) }),
		change(func(tx store.SessionTx) error { return tx.SetVariable("a", json.RawMessage("1")) }),
		change(func(tx store.SessionTx) error { return tx.PutFile("PLAN.md", "plan") }),
		change(func(tx store.SessionTx) error {
			return tx.Freeze(models.DefaultSlot, []store.PrunedForm{{Seq: 1, Pruned: "soft"}})
		}),
		change(func(tx store.SessionTx) error {
			gen, err := tx.Generation(models.DefaultSlot)
			if err != nil {
				return err
			}
			return tx.Compact(models.DefaultSlot, gen, 1, summary, now)
		}),
		func() error { _, err := s.Notes(ctx, "agent:a", 5); return err },
		func() error { _, err := s.Variables(ctx, "agent:a"); return err },
		func() error { _, err := s.File(ctx, "agent:a", "PLAN.md"); return err },
		func() error { _, err := s.LoadContext(ctx, "agent:a", "", 50); return err },
		func() error { _, err := s.IdleSessions(ctx, now, 10); return err },
		func() error { _, err := s.ArchiveSessions(ctx, now, 10); return err },
		func() error { _, err := s.ExpireSessions(ctx, now, 10); return err },
		func() error { _, err := s.DueSessions(ctx, store.StepExpire, now, 10); return err },
		func() error { _, _, err := s.CompactCandidates(ctx, 1, 1, "", 10); return err },
		func() error { _, _, err := s.PruneCandidates(ctx, 1, "", 10); return err },
	}
}

// A context is read by few statements, and costs what it shows: not what was
// compacted, nor how much the session keeps beside it.
func TestContextTouchesWhatItShows(t *testing.T) {
	cfg := newMySQL(t).config()
	cfg.MaxOpenConns = 1
	s, c := counted(t, cfg)
	ctx, now := t.Context(), clock.Real().Now()
	var touched []int64
	for _, n := range []int{200, 20_000} {
		key := benchKey(n)
		longHistory(t, s, key, n)
		if err := s.ChangeSession(ctx, key, func(tx store.SessionTx) error { return furnish(tx, n, now) }); err != nil {
			t.Fatal(err)
		}
		if _, err := s.LoadContext(ctx, key, "", 100); err != nil { // the first one reads statistics, too
			t.Fatal(err)
		}
		c.reset()
		const onDisk = "Created_tmp_disk_tables"
		tables := sessionStatus(t, gormstore.Pool(s), onDisk)
		reads := handlerReads(t, s, func() error {
			got, err := s.LoadContext(ctx, key, "", 100)
			if err == nil && (len(got.Messages) != 50 || got.Summary == nil || len(got.Forms) != 10 || len(got.Notes) != store.ContextNotes) {
				err = fmt.Errorf("%d messages, %d forms, %d notes", len(got.Messages), len(got.Forms), len(got.Notes))
			}
			return err
		})
		t.Logf("context of %d messages: %d entries, %d statements", n, reads, c.statements.Load())
		if c.statements.Load() > maxLoad || reads > 200 {
			t.Errorf("context of %d messages: %d entries by %d statements", n, reads, c.statements.Load())
		}
		if made := sessionStatus(t, gormstore.Pool(s), onDisk) - tables; made > 0 {
			t.Errorf("context of %d messages: %d temporary tables on disk", n, made)
		}
		touched = append(touched, reads)

		// A focus that keeps a system message which is not there looks no further than that.
		err := s.ChangeSession(ctx, key, func(tx store.SessionTx) error {
			return tx.UpdateSlot(&models.ContextSlot{ID: models.DefaultSlot, Mode: models.SlotFocused, Focused: &models.Focus{KeepSystem: true}})
		})
		if err != nil {
			t.Fatal(err)
		}
		c.reset()
		reads = handlerReads(t, s, func() error {
			_, err := s.LoadContext(ctx, key, "", 100)
			return err
		})
		t.Logf("focused: %d entries", reads)
		if c.statements.Load() > maxLoad || reads > store.FirstSystemRange+300 {
			t.Errorf("focused context of %d messages: %d entries by %d statements", n, reads, c.statements.Load())
		}
	}
	if touched[0] != touched[1] {
		t.Errorf("entries touched by number of messages: %v", touched)
	}
}

// furnish gives a session notes and variables, and pruned forms for every fifth
// message, and compacts all of its n messages but fifty.
func furnish(tx store.SessionTx, n int, now time.Time) error {
	for range n / 20 {
		if err := tx.PutNote(&models.Note{Value: "note", CreatedAt: now}); err != nil {
			return err
		}
	}
	if err := tx.SetVariable("name", json.RawMessage(`"value"`)); err != nil {
		return err
	}
	var forms []store.PrunedForm
	for seq := 5; seq <= n; seq += 5 {
		forms = append(forms, store.PrunedForm{Seq: int64(seq), Pruned: "soft", Content: "short"})
	}
	if err := tx.Freeze(models.DefaultSlot, forms); err != nil {
		return err
	}
	gen, err := tx.Generation(models.DefaultSlot)
	if err != nil {
		return err
	}
	return tx.Compact(models.DefaultSlot, gen, int64(n-50), storetest.NewSessionMessage(models.RoleSystem, "summary", now), now)
}
