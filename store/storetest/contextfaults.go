package storetest

import (
	"encoding/json"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// unused makes the scene's session one that nobody used for long, longer than any
// other scene's.
func (s *scene) unused(f *fixture) time.Time {
	ago := time.Duration(f.serial.Add(1)) * 24 * time.Hour
	s.key = f.used(ago)
	s.inbounds, s.deliveries = nil, nil
	f.notebook(s.key, "note")
	return f.at(time.Hour - ago)
}

func prepareIdle(f *fixture, s *scene) func() error {
	before := s.unused(f)
	return func() error { _, err := f.IdleSessions(f.ctx, before, 10); return err }
}

func prepareExpire(f *fixture, s *scene) func() error {
	before := s.unused(f)
	return func() error { _, err := f.ExpireSessions(f.ctx, before, 10); return err }
}

// contextChanges are operations on what a session keeps beside its messages, and on
// what its context shows of them.
func contextChanges() []changeOp {
	simple := func(name string, change func(f *fixture, tx store.SessionTx) error) changeOp {
		return changeOp{name, func(f *fixture, _ *scene) func(tx store.SessionTx) error {
			return func(tx store.SessionTx) error { return change(f, tx) }
		}}
	}
	// ready does something to the scene before the operation.
	ready := func(name string, prepare func(f *fixture, s *scene), change func(f *fixture, tx store.SessionTx) error) changeOp {
		return changeOp{name, func(f *fixture, s *scene) func(tx store.SessionTx) error {
			prepare(f, s)
			return func(tx store.SessionTx) error { return change(f, tx) }
		}}
	}
	notebook := func(f *fixture, s *scene) {
		f.notebook(s.key, "note")
		f.note(s.key, "city", "Berlin")
	}
	return []changeOp{
		simple("PutNote", func(f *fixture, tx store.SessionTx) error {
			return tx.PutNote(&models.Note{Value: "note", CreatedAt: f.now})
		}),
		ready("ReplaceNote", notebook, func(f *fixture, tx store.SessionTx) error {
			return tx.PutNote(&models.Note{Key: "city", Value: "Shanghai", CreatedAt: f.now})
		}),
		ready("DeleteNotes", notebook, func(_ *fixture, tx store.SessionTx) error { _, err := tx.DeleteNotes(); return err }),
		simple("SetVariable", func(_ *fixture, tx store.SessionTx) error { return tx.SetVariable("name", json.RawMessage("1")) }),
		ready("DeleteVariable", notebook, func(_ *fixture, tx store.SessionTx) error { return tx.DeleteVariable("name") }),
		simple("PutFile", func(_ *fixture, tx store.SessionTx) error { return tx.PutFile("TODO.md", "text") }),
		ready("DeleteWithNotebook", notebook, func(f *fixture, tx store.SessionTx) error { return tx.Delete(f.now) }),
		{"Compact", func(f *fixture, s *scene) func(tx store.SessionTx) error {
			gen, summary := f.load(s.key, models.DefaultSlot).Generation, f.said(models.RoleSystem, "summary")
			return func(tx store.SessionTx) error { return tx.Compact(models.DefaultSlot, gen, 1, summary, f.now) }
		}},
		ready("ResetCompacted", func(f *fixture, s *scene) { f.compact(s.key, models.DefaultSlot, 1, "summary") },
			func(f *fixture, tx store.SessionTx) error { return tx.Reset(models.DefaultSlot, 0, f.now) }),
		simple("Freeze", func(_ *fixture, tx store.SessionTx) error {
			return tx.Freeze(models.DefaultSlot, []store.PrunedForm{{Seq: 1, Pruned: "soft", Content: "short"}, {Seq: 2, Pruned: "hard"}})
		}),
		ready("DropMessages", func(f *fixture, s *scene) {
			f.freeze(s.key, models.DefaultSlot, store.PrunedForm{Seq: 1, Pruned: "soft"})
		},
			func(f *fixture, tx store.SessionTx) error {
				_, err := tx.DropMessages(models.DefaultSlot, 1, f.now)
				return err
			}),
		simple("MergeSlot", func(f *fixture, tx store.SessionTx) error {
			_, err := tx.MergeSlot("work", models.DefaultSlot, f.now)
			return err
		}),
	}
}
