package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/gateway/slot"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
	"github.com/chatkeep/chatkeep/store"
)

func TestPruneAheadOfTime(t *testing.T) {
	r := newPruneRig(t, prune.ModeSoft)
	r.settings.Pruning.Enabled = false
	r.start()
	for range 3 {
		r.ask()
	}
	before, _ := r.view()
	dry := r.prune(true)
	if dry.Changed != 2 || dry.Skipped != 1 || !dry.DryRun || dry.Deleted != 0 || dry.Reason != "" {
		t.Errorf("dry run: %+v", dry)
	}
	if item := dry.Items[0]; item.Seq != 3 || item.Role != models.RoleTool || item.Pruned != prune.Soft || item.Why != prune.WhyLongResult || item.Size < 1000 || item.Now != 200 {
		t.Errorf("%+v", item)
	}
	if after, _ := r.view(); pruned(after) != "" || after.Tokens != before.Tokens {
		t.Errorf("the dry run changed the context: %s", pruned(after))
	}
	if got := r.candidates(); len(got) != 1 {
		t.Errorf("candidates: %v", got)
	}
	if done := r.prune(false); done.Changed != 2 || done.DryRun || len(done.Items) != 2 {
		t.Errorf("%+v", done)
	}
	after, next := r.view()
	if pruned(after) != "3 soft, 7 soft" || after.Tokens >= before.Tokens {
		t.Errorf("the context is not pruned: %s, %d tokens", pruned(after), after.Tokens)
	}
	if got := r.candidates(); len(got) != 0 {
		t.Errorf("candidates: %v", got)
	}
	if again := r.prune(false); again.Changed != 0 || again.Skipped != 3 || again.Reason != "nothing to prune" {
		t.Errorf("again: %+v", again)
	}
	r.ask()
	equal(t, "sent", r.sent(), next...)

	for what, target := range map[string][2]string{"session": {strings.Replace(r.key, "lin", "wang", 1), models.DefaultSlot}, "slot": {r.key, "gone"}} {
		if _, err := r.gateway.Prune(t.Context(), target[0], target[1], false); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("unknown %s: %v", what, err)
		}
	}
}

// candidates are the slots that the job would look at.
func (r *pruneRig) candidates() []store.SlotSize {
	r.t.Helper()
	slots, _, err := r.store.PruneCandidates(context.Background(), 1, "", 100)
	if err != nil {
		r.t.Fatal(err)
	}
	return slots
}

func TestHardPruning(t *testing.T) {
	r := newPruneRig(t, prune.ModeHard)
	r.settings.MaxMessages = 9
	r.start()
	for range 5 { // 20 messages
		r.ask()
	}
	if view, _ := r.view(); pruned(view) != "" {
		t.Errorf("cleared as it is built: %s", pruned(view))
	}
	before := r.history("m1")
	// The newest nine begin with an answer: the call before it goes as a whole.
	if dry := r.prune(true); dry.Deleted != 11 || dry.Changed != 11+1 {
		t.Errorf("dry run: %+v", dry)
	}
	equal(t, "after the dry run", r.history("m1"), before...)
	if done := r.prune(false); done.Deleted != 11 || done.Changed != 12 {
		t.Errorf("%+v", done)
	}
	equal(t, "left", r.history("m1"), before[11:]...)
	view, _ := r.view()
	if pruned(view) != "15 hard" {
		t.Errorf("cleared: %s", pruned(view))
	}
	session, err := r.store.Session(t.Context(), r.key)
	if err != nil || session.MessageCount != 9 {
		t.Errorf("%d messages, %v", session.MessageCount, err)
	}
	r.ask()
	if sent := strings.Join(r.sent(), ""); strings.Count(sent, prune.Cleared) != 1 || strings.Contains(sent, "question 3") {
		t.Errorf("sent: %.500s", sent)
	}
	// A group of calls is deleted as a whole or not at all: 13 messages, of which the
	// newest ten begin with a result.
	r.settings.MaxMessages = 10
	r.gateway.Reload(r.settings)
	if done := r.prune(false); done.Deleted != 2 {
		t.Errorf("%+v", done)
	}
	if left := r.history("m1"); len(left) != 11 || !strings.HasPrefix(left[1], "tool ") {
		t.Errorf("%d messages are left: %.200s", len(left), left)
	}
}

func TestPruningLeavesSessionsInUseAlone(t *testing.T) {
	r := newPruneRig(t, prune.ModeHard)
	r.settings.MaxMessages = 4
	respond := r.mind.respond
	r.start()
	for range 3 {
		r.ask()
	}
	before := r.history("m1")
	for _, waits := range []string{"running", "waiting"} {
		r.say(whisper(waits, "lin", hold+" "+waits))
	}
	r.running(hold + " running")
	for _, dryRun := range []bool{true, false} {
		if p := r.prune(dryRun); p.Changed != 0 || p.Reason != "in use" || len(p.Items) != 0 || p.Skipped != 1 {
			t.Errorf("dry run %v: %+v", dryRun, p)
		}
	}
	equal(t, "messages", r.history("m1"), before...)
	r.mind.does(respond)
	r.mind.release()
	r.ends("waiting", models.InboundDone)
	if p := r.prune(false); p.Deleted == 0 {
		t.Errorf("%+v", p)
	}
}

// Very much is deleted in several transactions.
func TestHardPruningOfALongHistory(t *testing.T) {
	r := newPruneRig(t, prune.ModeHard)
	r.settings.MaxMessages = 50
	r.start()
	messages := make([]*models.SessionMessage, 11_000)
	for i := range messages {
		messages[i] = &models.SessionMessage{ID: fmt.Sprint("u", i), Role: models.RoleUser, Content: fmt.Sprint("said ", i)}
	}
	r.begin("long", messages)
	for _, dryRun := range []bool{true, false} {
		if p := r.prune(dryRun); p.Deleted != 10_950 || p.Changed != 10_950 {
			t.Errorf("dry run %v: %+v", dryRun, p)
		}
	}
	left, err := r.store.Messages(t.Context(), r.key, models.DefaultSlot, 0, 1000)
	if err != nil || len(left) != 50 || left[0].Content != "said 10950" {
		t.Errorf("%d messages are left, %v", len(left), err)
	}
}

// Only mode hard deletes.
func TestSoftPruningDeletesNothing(t *testing.T) {
	r := newPruneRig(t, prune.ModeSoft)
	r.settings.MaxMessages = 4
	r.start()
	for range 3 {
		r.ask()
	}
	if p := r.prune(false); p.Deleted != 0 || len(r.history("m1")) != 12 {
		t.Errorf("%+v, %d messages are left", p, len(r.history("m1")))
	}
}

// meddling is a store in which something happens once a context was read.
type meddling struct {
	store.Store

	key  string // empty: of any session
	then func()
}

// LoadContext reads, and then something happens.
func (m *meddling) LoadContext(ctx context.Context, key, slot string, limit int) (*store.SessionContext, error) {
	out, err := m.Store.LoadContext(ctx, key, slot, limit)
	if then := m.then; then != nil && (m.key == "" || m.key == key) {
		m.then = nil
		then()
	}
	return out, err
}

// What was decided on a context that has changed meanwhile is not done.
func TestPruningNoticesWhatHappensMeanwhile(t *testing.T) {
	r := newPruneRig(t, prune.ModeHard)
	r.settings.MaxMessages = 4
	between := &meddling{Store: r.store}
	r.store = between
	r.start()
	for range 3 {
		r.ask()
	}
	ctx := t.Context()
	for what, then := range map[string]func() error{
		"a turn": func() error {
			return r.store.AppendMessages(ctx, r.key, []*models.SessionMessage{{ID: "more", Role: models.RoleUser, Content: "more"}})
		},
		"an undo": func() error {
			return r.store.ChangeSession(ctx, r.key, func(tx store.SessionTx) error { return tx.UndoTurn(models.DefaultSlot, time.Now()) })
		},
	} {
		between.then = func() {
			if err := then(); err != nil {
				t.Error(err)
			}
		}
		if p := r.prune(false); p.Changed != 0 || p.Reason != "in use" || len(p.Items) != 0 {
			t.Errorf("%s: %+v", what, p)
		}
	}
	if view, _ := r.view(); pruned(view) != "" {
		t.Errorf("pruned: %s", pruned(view))
	}
	if p := r.prune(false); p.Deleted == 0 {
		t.Errorf("afterwards: %+v", p)
	}
}

// weighed is a store that knows how many messages were asked for at once.
type weighed struct {
	store.Store

	most atomic.Int64
}

// Messages reads messages with all they hold.
func (w *weighed) Messages(ctx context.Context, key, slot string, before int64, limit int) ([]*models.SessionMessage, error) {
	w.most.Store(max(w.most.Load(), int64(limit)))
	return w.Store.Messages(ctx, key, slot, before, limit)
}

// Messages may hold pictures, some megabytes each: what looks at many of them reads few
// at once, and comes to the same.
func TestManyMessagesAreReadFewAtOnce(t *testing.T) {
	r := newPruneRig(t, prune.ModeHard)
	r.settings.MaxMessages = 50
	counted := &weighed{Store: r.store}
	r.store = counted
	r.start()
	r.ask()
	messages := make([]*models.SessionMessage, 90)
	for i := range messages {
		messages[i] = &models.SessionMessage{ID: fmt.Sprint("old", i), Role: models.RoleTool, ToolCallID: "gone", Content: fmt.Sprint("old ", i)}
	}
	messages[30].Role, messages[89].Role = models.RoleUser, models.RoleAssistant
	if err := r.store.AppendMessages(t.Context(), r.key, messages); err != nil {
		t.Fatal(err)
	}
	r.say(whisper("h1", "lin", "/history"))
	r.ends("h1", models.InboundDone)
	if shown := r.delivered()[len(r.delivered())-1]; !strings.Contains(shown, "old 30") || !strings.Contains(shown, "old 89") {
		t.Errorf("history: %s", shown)
	}
	if p := r.prune(false); p.Deleted != 34 { // up to the start of the group that the fiftieth is in
		t.Errorf("%+v", p)
	}
	if most := counted.most.Load(); most > 20 {
		t.Errorf("%d messages were read at once", most)
	}
}

// Nothing is pruned in a slot that takes no changes, and the job is done with it.
func TestReadonlySlotsAreNotPruned(t *testing.T) {
	r := newPruneRig(t, prune.ModeSoft)
	r.settings.StaticSlots = map[string][]slot.Static{"assistant": {slot.NewStatic("handbook", []*models.SessionMessage{{Role: models.RoleUser, Content: "rules"}})}}
	r.start()
	for range 3 {
		r.ask()
	}
	if _, err := r.gateway.PatchSlot(t.Context(), r.key, models.DefaultSlot, func(s *models.ContextSlot) { s.Mode = models.SlotReadonly }); err != nil {
		t.Fatal(err)
	}
	for _, dryRun := range []bool{true, false} {
		if got := r.candidates(); len(got) != 1 {
			t.Errorf("candidates: %v", got)
		}
		if p := r.prune(dryRun); p.Changed != 0 || p.Reason != "read-only" {
			t.Errorf("%+v", p)
		}
	}
	if got := r.candidates(); len(got) != 0 {
		t.Errorf("candidates: %v", got)
	}
	if p, err := r.gateway.Prune(t.Context(), r.key, "handbook", false); err != nil || p.Changed != 0 || p.Reason != "read-only" {
		t.Errorf("static: %+v, %v", p, err)
	}
}

// again is a store that runs a change once more after the first try was rolled back, and
// something happened.
type again struct {
	store.Store

	then func()
}

// ChangeSessions changes at the second try.
func (a *again) ChangeSessions(ctx context.Context, keys []string, change func(key string, tx store.SessionTx) error) error {
	undone := errors.New("rolled back")
	if err := a.Store.ChangeSessions(ctx, keys, func(key string, tx store.SessionTx) error {
		return errors.Join(change(key, tx), undone)
	}); !errors.Is(err, undone) {
		return err
	}
	a.then()
	return a.Store.ChangeSessions(ctx, keys, change)
}

// What was rolled back is not counted.
func TestPruningThatIsRolledBack(t *testing.T) {
	r := newPruneRig(t, prune.ModeHard)
	r.settings.MaxMessages = 4
	twice := &again{Store: r.store}
	r.store = twice
	r.start()
	for range 3 {
		r.ask()
	}
	twice.then = func() {
		if err := r.store.AppendMessages(t.Context(), r.key, []*models.SessionMessage{{ID: "more", Role: models.RoleUser, Content: "more"}}); err != nil {
			t.Error(err)
		}
	}
	if p := r.prune(false); p.Deleted != 0 || p.Changed != 0 || p.Reason != "in use" {
		t.Errorf("%+v", p)
	}
}

// A slot of which the newest messages are not shown, or none are, is looked at once like
// any other.
func TestPruningIsDoneWithWhatIsNotShown(t *testing.T) {
	r := newPruneRig(t, prune.ModeSoft)
	r.start()
	for range 3 {
		r.ask()
	}
	for range 3 {
		if err := r.store.ChangeSession(t.Context(), r.key, func(tx store.SessionTx) error { return tx.UndoTurn(models.DefaultSlot, time.Now()) }); err != nil {
			t.Fatal(err)
		}
		r.prune(false)
		if got := r.candidates(); len(got) != 0 {
			t.Errorf("candidates: %v", got)
		}
	}
}

// miscounted is a store that takes a slot for longer than it is.
type miscounted struct{ store.Store }

// LoadContext reads a wrong number.
func (m miscounted) LoadContext(ctx context.Context, key, slot string, limit int) (*store.SessionContext, error) {
	out, err := m.Store.LoadContext(ctx, key, slot, limit)
	if err == nil && out.Slot != nil {
		out.Slot.MessageCount += 20_000
	}
	return out, err
}

// However many messages are thought to be there, pruning comes to its end.
func TestPruningOfAMiscountedSlotEnds(t *testing.T) {
	r := newPruneRig(t, prune.ModeHard)
	r.settings.MaxMessages = 4
	r.store = miscounted{r.store}
	r.start()
	for range 3 {
		r.ask()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if p, err := r.gateway.Prune(ctx, r.key, models.DefaultSlot, false); err != nil || p.Deleted != 8 {
		t.Errorf("%+v, %v", p, err)
	}
}
