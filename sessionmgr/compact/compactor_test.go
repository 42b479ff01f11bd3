package compact_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/compact"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/memstore"
)

const sessionKey = "agent:assistant:channel:any:scope:per_peer:api/default/u"

// desk is a session in a store, with who summarises it.
type desk struct {
	testing.TB
	store.Store

	compactor *compact.Compactor
	asks      []compact.Ask
	answer    func(ctx context.Context, a compact.Ask) (compact.Answer, error)
}

func newDesk(t testing.TB) *desk {
	st := memstore.New()
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	d := &desk{TB: t, Store: st, compactor: compact.New(st, clock.Real(), nil)}
	d.ok(st.CreateSession(t.Context(), &models.Session{
		Key: sessionKey, AgentID: "assistant", Channel: "api", Account: "default", Scope: models.ScopePerPeer,
		ScopeID: "api/default/u", State: models.SessionIdle, CurrentSlot: models.DefaultSlot, CreatedAt: time.Now(),
	}))
	return d
}

func (d *desk) ok(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func (d *desk) model(ctx context.Context, a compact.Ask) (compact.Answer, error) {
	d.asks = append(d.asks, a)
	if d.answer != nil {
		return d.answer(ctx, a)
	}
	return compact.Answer{Text: fmt.Sprintf("summary %d", len(d.asks)), Usage: models.Usage{PromptTokens: 100, CompletionTokens: 5}}, nil
}

// add appends messages written as "role content".
func (d *desk) add(lines ...string) {
	d.Helper()
	var messages []*models.SessionMessage
	for _, line := range lines {
		role, content, _ := strings.Cut(line, " ")
		m := &models.SessionMessage{ID: models.NewMessageID(time.Now()), Role: models.Role(role), Content: content, CreatedAt: time.Now()}
		m.TokenCount = tokens.Message(m, nil)
		messages = append(messages, m)
	}
	d.ok(d.AppendMessages(d.Context(), sessionKey, messages))
}

// talk adds turns.
func (d *desk) talk(from, to int) {
	d.Helper()
	for n := from; n <= to; n++ {
		d.add(fmt.Sprintf("user question %d about the order ORD-%d and whatever else there is to say", n, 1000+n),
			fmt.Sprintf("assistant answer %d, in as many words as the question had, or a few more", n))
	}
}

func (d *desk) change(change func(tx store.SessionTx) error) {
	d.Helper()
	d.ok(d.ChangeSession(d.Context(), sessionKey, change))
}

func (d *desk) load() *store.SessionContext {
	d.Helper()
	c, err := d.LoadContext(d.Context(), sessionKey, "", 1000)
	d.ok(err)
	return c
}

func (d *desk) request() compact.Request {
	return compact.Request{Key: sessionKey, Keep: 4, Model: d.model}
}

func (d *desk) compact(r compact.Request) compact.Result {
	d.Helper()
	result, err := d.compactor.Compact(d.Context(), r)
	d.ok(err)
	return result
}

// stored is everything that a session holds, to compare.
func (d *desk) stored() string {
	d.Helper()
	session, err := d.Session(d.Context(), sessionKey)
	d.ok(err)
	messages, err := d.Messages(d.Context(), sessionKey, models.DefaultSlot, 0, 1000)
	d.ok(err)
	all := fmt.Sprintf("%+v", *session)
	for _, m := range messages {
		all += fmt.Sprintf("\n%+v", *m)
	}
	return all
}

func TestCompact(t *testing.T) {
	d := newDesk(t)
	d.talk(1, 10)
	before := d.load()
	result := d.compact(d.request())
	after := d.load()
	if !result.Changed || result.Replaced != 16 || result.Kept != 4 || result.Before != before.LiveTokens || result.After != after.LiveTokens ||
		result.Usage.PromptTokens != 100 {
		t.Errorf("%+v; the context had %d tokens and has %d", result, before.LiveTokens, after.LiveTokens)
	}
	if after.Summary == nil || !after.Summary.IsCompacted || after.Summary.Role != models.RoleSystem || len(after.Messages) != 4 {
		t.Fatalf("the context is %+v", after)
	}
	if result.After >= result.Before {
		t.Errorf("%d tokens, before %d", result.After, result.Before)
	}
	text := after.Summary.Content
	for _, want := range append(compact.Headings(), "summary 1", "ORD-1008") {
		if !strings.Contains(text, want) {
			t.Errorf("the summary lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "ORD-1009") {
		t.Errorf("the summary holds what is kept:\n%s", text)
	}

	// The earlier summary is distilled in, not stacked.
	d.talk(11, 20)
	d.compact(d.request())
	if ask := d.asks[1].Text; !strings.Contains(ask, "> summary 1\n") || !strings.Contains(ask, "ORD-1009") || strings.Contains(ask, "question 8 ") {
		t.Errorf("the second request:\n%s", ask)
	}
	again := d.load().Summary.Content
	if strings.Contains(again, "summary 1") || !strings.Contains(again, "summary 2") || !strings.Contains(again, "ORD-1001") {
		t.Errorf("the second summary:\n%s", again)
	}
	session, err := d.Session(t.Context(), sessionKey)
	d.ok(err)
	if session.CompactionCount != 2 || session.CompactedSummary != again || session.State != models.SessionCompacted {
		t.Errorf("%+v", session)
	}
}

func TestDryRunAsksNoModel(t *testing.T) {
	d := newDesk(t)
	d.talk(1, 10)
	before := d.stored()
	r := d.request()
	r.DryRun = true
	if result := d.compact(r); result.Changed || result.Reason != "" || result.Replaced != 16 || len(d.asks) > 0 || d.stored() != before {
		t.Errorf("%+v after %d requests", result, len(d.asks))
	}
}

func TestWhatIsLeftAlone(t *testing.T) {
	d := newDesk(t)
	d.talk(1, 2)
	if result := d.compact(d.request()); result.Reason != compact.TooShort {
		t.Errorf("a short slot: %+v", result)
	}
	d.talk(3, 10)
	for name, spoil := range map[string]func(*models.ContextSlot){
		"read-only": func(s *models.ContextSlot) { s.Mode = models.SlotReadonly },
		"excluded":  func(s *models.ContextSlot) { s.Compact = false },
	} {
		d.change(func(tx store.SessionTx) error {
			slots, err := tx.Slots()
			if err != nil {
				return err
			}
			spoil(slots[0])
			return tx.UpdateSlot(slots[0])
		})
		if result := d.compact(d.request()); result.Reason != compact.Excluded || result.Changed {
			t.Errorf("%s: %+v", name, result)
		}
	}
	if len(d.asks) > 0 {
		t.Errorf("%d requests", len(d.asks))
	}
	for _, missing := range []compact.Request{{Key: sessionKey, Slot: "gone"}, {Key: sessionKey + "x"}} {
		if _, err := d.compactor.Compact(t.Context(), missing); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%+v: %v", missing, err)
		}
	}
}

// The system messages that a slot begins with are its rules.
func TestRulesAreNotSummarised(t *testing.T) {
	d := newDesk(t)
	d.add("system never speak of RULE-77")
	d.talk(1, 10)
	result := d.compact(d.request())
	if !result.Changed || result.Replaced != 16 || strings.Contains(d.asks[0].Text, "RULE-77") || strings.Contains(d.load().Summary.Content, "RULE-77") {
		t.Errorf("%+v\n%s", result, d.asks[0].Text)
	}
}

// A failure of any kind leaves every byte as it was.
func TestFailureLeavesEverythingAsItWas(t *testing.T) {
	failure := errors.New("provider failed")
	for name, c := range map[string]struct {
		answer func(ctx context.Context, a compact.Ask) (compact.Answer, error)
		want   error
	}{
		"error": {func(context.Context, compact.Ask) (compact.Answer, error) { return compact.Answer{}, failure }, failure},
		"empty": {func(context.Context, compact.Ask) (compact.Answer, error) { return compact.Answer{Text: "\n "}, nil }, compact.ErrEmpty},
		"overflow": {func(context.Context, compact.Ask) (compact.Answer, error) {
			return compact.Answer{}, compact.ErrOverflow
		}, compact.ErrOverflow},
		"too long": {func(_ context.Context, a compact.Ask) (compact.Answer, error) {
			return compact.Answer{Text: a.Text}, nil
		}, compact.ErrNoProgress},
		"cancelled": {func(ctx context.Context, _ compact.Ask) (compact.Answer, error) {
			return compact.Answer{}, context.Canceled
		}, context.Canceled},
	} {
		d := newDesk(t)
		d.talk(1, 6)
		d.answer = c.answer
		before := d.stored()
		result, err := d.compactor.Compact(t.Context(), d.request())
		if !errors.Is(err, c.want) || result.Changed {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
		if after := d.stored(); after != before {
			t.Errorf("%s changed the session:\n%s\nbefore:\n%s", name, after, before)
		}
	}
}

// What happens while the model works is neither lost nor held up.
func TestWhatHappensMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		do     func(d *desk)
		reason compact.Reason
	}{
		"more is said": {func(d *desk) { d.talk(11, 11) }, ""},
		"reset": {func(d *desk) {
			d.change(func(tx store.SessionTx) error { return tx.Reset(models.DefaultSlot, 0, time.Now()) })
		}, compact.Changed},
		"deleted": {func(d *desk) { d.change(func(tx store.SessionTx) error { return tx.Delete(time.Now()) }) }, compact.Changed},
		"undone": {func(d *desk) {
			d.change(func(tx store.SessionTx) error { return tx.UndoTurn(models.DefaultSlot, time.Now()) })
		}, compact.Changed},
		"summarised": {func(d *desk) { other := d.request(); other.Model = short; d.compact(other) }, compact.Changed},
	} {
		d := newDesk(t)
		d.talk(1, 10)
		d.answer = func(context.Context, compact.Ask) (compact.Answer, error) {
			c.do(d)
			return compact.Answer{Text: "late summary"}, nil
		}
		result, err := d.compactor.Compact(t.Context(), d.request())
		if err != nil || result.Reason != c.reason || result.Changed == (c.reason != "") {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
		after := d.load()
		switch name {
		case "more is said":
			if after.Summary == nil || len(after.Messages) != 6 {
				t.Errorf("%s: %d messages after the summary", name, len(after.Messages))
			}
		case "deleted":
			if after.Session != nil {
				t.Error("the session is back")
			}
		default:
			if after.Summary != nil && strings.Contains(after.Summary.Content, "late summary") {
				t.Errorf("%s: the late summary was stored", name)
			}
		}
	}
}

func short(context.Context, compact.Ask) (compact.Answer, error) {
	return compact.Answer{Text: "short"}, nil
}

// Pass after pass the context shrinks or the passes stop; what must be kept is kept.
func TestPassesShrinkOrStop(t *testing.T) {
	d := newDesk(t)
	rapid.Check(t, func(rt *rapid.T) {
		d.change(func(tx store.SessionTx) error { return tx.Reset(models.DefaultSlot, 0, time.Now()) })
		keep := rapid.IntRange(0, 8).Draw(rt, "keep")
		length := rapid.SampledFrom([]int{1, 40, 400}).Draw(rt, "length")
		d.answer = func(context.Context, compact.Ask) (compact.Answer, error) {
			return compact.Answer{Text: strings.Repeat("words ", length)}, nil
		}
		d.talk(1, rapid.IntRange(0, 20).Draw(rt, "turns"))
		for pass := 0; ; pass++ {
			before := d.load()
			r := d.request()
			r.Keep = keep
			result, err := d.compactor.Compact(d.Context(), r)
			after := d.load()
			if !result.Changed {
				if after.LiveTokens != before.LiveTokens || err == nil && result.Reason != compact.TooShort || err != nil && !errors.Is(err, compact.ErrNoProgress) {
					rt.Fatalf("%+v, %v", result, err)
				}
				return
			}
			if after.LiveTokens >= before.LiveTokens || pass > 0 {
				rt.Fatalf("pass %d: %d tokens, before %d", pass, after.LiveTokens, before.LiveTokens)
			}
			if n := len(after.Messages); n < keep && n < len(before.Messages) {
				rt.Fatalf("%d messages are kept of %d, %d must be", n, len(before.Messages), keep)
			}
			last := before.Messages[len(before.Messages)-1]
			if kept := after.Messages; len(kept) == 0 || kept[len(kept)-1].ID != last.ID {
				rt.Fatal("the newest message is gone")
			}
		}
	})
}

func TestSummaryForAnotherSlot(t *testing.T) {
	d := newDesk(t)
	d.talk(1, 3)
	d.change(func(tx store.SessionTx) error {
		return tx.DeriveSlot(&models.ContextSlot{
			ID: "branch", Compact: true, Source: models.SlotSource{Kind: models.SlotDerived, ParentID: models.DefaultSlot, Strategy: models.DeriveFull}, CreatedAt: time.Now(),
		}, models.DefaultSlot)
	})
	r := d.request()
	r.Slot = "branch"
	of := func() (*models.SessionMessage, int64) {
		after, err := d.LoadContext(t.Context(), sessionKey, "branch", 100)
		d.ok(err)
		m, through, _, err := d.compactor.Summary(t.Context(), r, after.MergedThrough)
		d.ok(err)
		return m, through
	}
	if m, through := of(); m != nil || through != 0 {
		t.Errorf("nothing is new: %+v through %d", m, through)
	}
	d.change(func(tx store.SessionTx) error { return tx.SwitchSlot("branch") })
	d.talk(4, 4)
	m, through := of()
	if m == nil || through != 8 || !strings.Contains(m.Content, "ORD-1004") || strings.Contains(d.asks[0].Text, "ORD-1003") {
		t.Errorf("%+v through %d", m, through)
	}
	if before := d.load(); before.Summary != nil {
		t.Error("a summary was stored")
	}
}
