package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/chatkeep/chatkeep/gateway/lifecycle"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
	"github.com/chatkeep/chatkeep/store"
)

// The job prunes what is due, and only if pruning is enabled.
func TestTheJobPrunes(t *testing.T) {
	r := newPruneRig(t, prune.ModeHard)
	r.settings.Pruning.Enabled = false
	r.start()
	for range 3 {
		r.ask()
	}
	if report, err := r.gateway.RunJob(t.Context(), lifecycle.Prune, false); err != nil || report.Changed != 0 {
		t.Errorf("not enabled: %+v, %v", report, err)
	}
	r.settings.Pruning.Enabled = true
	r.gateway.Reload(r.settings)
	if report, err := r.gateway.RunJob(t.Context(), lifecycle.Prune, true); err != nil || report.Changed != 1 {
		t.Errorf("dry run: %+v, %v", report, err)
	}
	if view, _ := r.view(); pruned(view) != "" {
		t.Errorf("the dry run pruned %s", pruned(view))
	}
	if report, err := r.gateway.RunJob(t.Context(), lifecycle.Prune, false); err != nil || report.Changed != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if view, _ := r.view(); pruned(view) != "3 hard, 7 hard" {
		t.Errorf("pruned: %s", pruned(view))
	}
	if report, err := r.gateway.RunJob(t.Context(), lifecycle.Prune, false); err != nil || report.Considered != 0 {
		t.Errorf("again: %+v, %v", report, err)
	}
}

// The job deletes from several sessions together, in more than one transaction if it is
// very much, and leaves out one that is used meanwhile.
func TestTheJobPrunesSeveralTogether(t *testing.T) {
	r := newPruneRig(t, prune.ModeHard)
	r.settings.MaxMessages = 10
	between := &meddling{Store: r.store}
	r.store = between
	r.start()
	left := map[string]int{}
	for name, n := range map[string]int{"long": 4000, "longer": 4500, "short": 30, "busy": 3000, "none": 9} {
		messages := make([]*models.SessionMessage, n)
		for i := range messages {
			messages[i] = &models.SessionMessage{ID: fmt.Sprint(name, i), Role: models.RoleUser, Content: fmt.Sprint("said ", i)}
		}
		r.begin(name, messages)
		left[r.key] = 10
		switch name {
		case "none":
			left[r.key] = n
		case "busy":
			left[r.key] = n + 1
			between.key, between.then = r.key, func() {
				if err := r.store.AppendMessages(t.Context(), between.key, []*models.SessionMessage{{ID: "more", Role: models.RoleUser, Content: "more"}}); err != nil {
					t.Error(err)
				}
			}
		}
	}
	report, err := r.gateway.RunJob(t.Context(), lifecycle.Prune, false)
	if err != nil || report.Changed != 3 || report.Reasons["in use"] != 1 || report.Reasons["nothing to prune"] != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	for key, want := range left {
		if s, err := r.store.Session(t.Context(), key); err != nil || s.MessageCount != want {
			t.Errorf("%s: %d messages are left, want %d: %v", key, s.MessageCount, want, err)
		}
	}
}

// Slots of one session are pruned together as well.
func TestTheJobPrunesSlotsOfOneSession(t *testing.T) {
	r := newPruneRig(t, prune.ModeHard)
	r.settings.MaxMessages = 10
	r.start()
	messages := func(in string) []*models.SessionMessage {
		out := make([]*models.SessionMessage, 30)
		for i := range out {
			out[i] = &models.SessionMessage{ID: fmt.Sprint(in, i), Role: models.RoleUser, Content: "said"}
		}
		return out
	}
	r.begin("lin", messages(models.DefaultSlot))
	if err := r.store.ChangeSession(t.Context(), r.key, func(tx store.SessionTx) error {
		return errors.Join(
			tx.CreateSlot(&models.ContextSlot{ID: "work", SessionKey: r.key, Mode: models.SlotFull, CreatedAt: time.Now()}),
			tx.Append("work", messages("work"), time.Now()))
	}); err != nil {
		t.Fatal(err)
	}
	if report, err := r.gateway.RunJob(t.Context(), lifecycle.Prune, false); err != nil || report.Changed != 2 || report.Considered != 2 {
		t.Errorf("%+v, %v", report, err)
	}
	for _, slot := range []string{models.DefaultSlot, "work"} {
		if left, err := r.store.Messages(t.Context(), r.key, slot, 0, 100); err != nil || len(left) != 10 {
			t.Errorf("%s: %d messages are left, %v", slot, len(left), err)
		}
	}
}

// forgetful is a store that knows which contexts are still held.
type forgetful struct {
	store.Store

	read []weak.Pointer[models.SessionMessage]
	held int
}

// LoadContext notes what it returns.
func (f *forgetful) LoadContext(ctx context.Context, key, slot string, limit int) (*store.SessionContext, error) {
	out, err := f.Store.LoadContext(ctx, key, slot, limit)
	if err == nil && len(out.Messages) > 0 {
		f.read = append(f.read, weak.Make(out.Messages[0]))
	}
	return out, err
}

// ChangeSessions counts what is held while it is called.
func (f *forgetful) ChangeSessions(ctx context.Context, keys []string, change func(key string, tx store.SessionTx) error) error {
	runtime.GC()
	for _, m := range f.read {
		if m.Value() != nil {
			f.held++
		}
	}
	return f.Store.ChangeSessions(ctx, keys, change)
}

// Contexts may hold pictures, some megabytes each: the job does not keep those of all the
// slots that it changes together.
func TestTheJobKeepsNoContexts(t *testing.T) {
	r := newPruneRig(t, prune.ModeHard)
	kept := &forgetful{Store: r.store}
	r.store = kept
	r.start()
	for i := range 4 {
		r.begin(fmt.Sprint("s", i), []*models.SessionMessage{
			{ID: "a", Role: models.RoleUser, Content: "q"}, {ID: "b", Role: models.RoleAssistant, Content: "a"}, {ID: "c", Role: models.RoleUser, Content: "q"},
			{ID: "d", Role: models.RoleAssistant, Content: "a"}, {ID: "e", Role: models.RoleUser, Content: "q"}, {ID: "f", Role: models.RoleAssistant, Content: "a"},
			{ID: "g", Role: models.RoleUser, Content: "q"}, {ID: "h", Role: models.RoleAssistant, Content: "a"},
		})
	}
	if report, err := r.gateway.RunJob(t.Context(), lifecycle.Prune, false); err != nil || report.Considered != 4 {
		t.Errorf("%+v, %v", report, err)
	}
	if len(kept.read) != 4 || kept.held > 1 {
		t.Errorf("%d of %d contexts are held", kept.held, len(kept.read))
	}
}

// deserted is a store in which a session is gone once the job has found it.
type deserted struct {
	store.Store

	changes int
}

// PruneCandidates finds the slots, and then one is gone.
func (v *deserted) PruneCandidates(ctx context.Context, least int, after string, limit int) ([]store.SlotSize, string, error) {
	slots, next, err := v.Store.PruneCandidates(ctx, least, after, limit)
	if err == nil && len(slots) > 1 {
		err = v.Store.ChangeSession(ctx, slots[1].SessionKey, func(tx store.SessionTx) error { return tx.Delete(time.Now()) })
	}
	return slots, next, err
}

// ChangeSessions counts.
func (v *deserted) ChangeSessions(ctx context.Context, keys []string, change func(key string, tx store.SessionTx) error) error {
	v.changes++
	return v.Store.ChangeSessions(ctx, keys, change)
}

// A slot that is gone does not keep those from each other that it was found with.
func TestTheJobPassesOverWhatIsGone(t *testing.T) {
	r := newPruneRig(t, prune.ModeHard)
	r.settings.MaxMessages = 10
	counted := &deserted{Store: r.store}
	r.store = counted
	r.start()
	for i := range 5 {
		messages := make([]*models.SessionMessage, 30)
		for n := range messages {
			messages[n] = &models.SessionMessage{ID: fmt.Sprint("m", i, "-", n), Role: models.RoleUser, Content: "said"}
		}
		r.begin(fmt.Sprint("s", i), messages)
	}
	report, err := r.gateway.RunJob(t.Context(), lifecycle.Prune, false)
	if err != nil || report.Changed != 4 || report.Reasons["gone"] != 1 || report.Error != "" {
		t.Errorf("%+v, %v", report, err)
	}
	if counted.changes != 1 {
		t.Errorf("%d transactions", counted.changes)
	}
}
