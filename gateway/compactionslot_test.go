package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/slot"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// A focused slot shows its own summary beside its newest messages, unless it has one
// that was written for it.
func TestFocusedSlotShowsItsOwnSummary(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 0)
	r.start()
	r.talk(1)
	focus := func(override string) {
		_, err := r.gateway.PatchSlot(context.Background(), r.key(), models.DefaultSlot, func(s *models.ContextSlot) {
			s.Mode, s.Focused = models.SlotFocused, &models.Focus{RecentMessages: 2, SummaryOverride: override}
		})
		r.must(err)
	}
	focus("")
	r.talk(6)
	last := func() string {
		_, answers := r.requests()
		return string(answers[len(answers)-1].Body)
	}
	if s := r.session(); s.CompactionCount == 0 {
		t.Fatal("the slot was not summarised")
	}
	if request := last(); !strings.Contains(request, "what was said") || !strings.Contains(request, "ORD-1001") ||
		strings.Contains(request, "message 4 ") || !strings.Contains(request, "message 6 ") {
		t.Errorf("the request:\n%s", request)
	}
	focus("written for it")
	r.talk(1)
	if request := last(); strings.Contains(request, "what was said") || !strings.Contains(request, "written for it") {
		t.Errorf("the request with an override:\n%s", request)
	}
}

// The system messages that a slot begins with stand before its summary.
func TestRulesOutliveACompaction(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 0)
	r.start()
	r.talk(1)
	now := time.Now()
	rule := &models.SessionMessage{ID: models.NewMessageID(now), Role: models.RoleSystem, Content: "never speak of RULE-77", TokenCount: 9, CreatedAt: now}
	r.must(r.store.ChangeSession(context.Background(), r.key(), func(tx store.SessionTx) error {
		if err := tx.Reset(models.DefaultSlot, 0, now); err != nil {
			return err
		}
		return tx.Append(models.DefaultSlot, []*models.SessionMessage{rule}, now)
	}))
	r.talk(7)
	if s := r.session(); s.CompactionCount == 0 {
		t.Fatal("the slot was not summarised")
	}
	summaries, answers := r.requests()
	for _, req := range summaries {
		if strings.Contains(string(req.Body), "RULE-77") {
			t.Errorf("a rule was summarised:\n%s", req.Body)
		}
	}
	if request := answers[len(answers)-1]; strings.Count(string(request.Body), "RULE-77") != 1 || !strings.Contains(string(request.Body), "what was said") {
		t.Errorf("the request:\n%s", request.Body)
	}
}

func TestMergeByASummary(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 0)
	r.settings.Compaction.Enabled = false
	r.start()
	ctx := context.Background()
	r.talk(2)
	_, err := r.gateway.DeriveSlot(ctx, r.key(), models.DefaultSlot, slot.Derive{ID: "branch"})
	r.must(err)
	merge := func() int {
		t.Helper()
		c, err := r.gateway.MergeSlot(ctx, r.key(), "branch", models.DefaultSlot, gateway.MergeSummary)
		r.must(err)
		return c.Changed
	}
	if n := merge(); n != 0 {
		t.Errorf("%d messages though nothing is new", n)
	}
	_, err = r.gateway.SwitchSlot(ctx, r.key(), "branch")
	r.must(err)
	r.talk(2)
	if n := merge(); n != 1 {
		t.Errorf("%d messages", n)
	}
	history := r.history("m1")
	added := history[len(history)-1]
	if len(history) != 5 || !strings.HasPrefix(added, `system Summary of the context "branch".`) || !strings.Contains(added, "ORD-1004") {
		t.Errorf("history %q", history)
	}
	summaries, _ := r.requests()
	if len(summaries) != 1 || strings.Contains(summaries[0].Last("user").Text(), "message 2 ") {
		t.Errorf("%d requests; the first:\n%s", len(summaries), summaries[0].Last("user").Text())
	}
	if n := merge(); n != 0 {
		t.Errorf("the same is merged twice: %d messages", n)
	}

	// What was emptied meanwhile is not merged, and what fails leaves all as it was.
	r.talk(1)
	asked, gate := make(chan struct{}), make(chan struct{})
	r.summarises(func(*agenttest.ChatRequest) agenttest.Reply {
		close(asked)
		<-gate
		return agenttest.Say("too late")
	})
	done := make(chan error, 1)
	go func() {
		_, err := r.gateway.MergeSlot(ctx, r.key(), "branch", models.DefaultSlot, gateway.MergeSummary)
		done <- err
	}()
	<-asked
	r.must(r.store.ChangeSession(ctx, r.key(), func(tx store.SessionTx) error { return tx.Reset("branch", 0, time.Now()) }))
	close(gate)
	if err := <-done; !errors.Is(err, store.ErrConflict) {
		t.Errorf("merged after a reset: %v", err)
	}
	r.talk(1)
	r.summarises(func(*agenttest.ChatRequest) agenttest.Reply { return agenttest.Reply{} })
	if _, err := r.gateway.MergeSlot(ctx, r.key(), "branch", models.DefaultSlot, gateway.MergeSummary); err == nil {
		t.Error("merged without a summary")
	}
	if after := r.history("m1"); len(after) != 5 {
		t.Errorf("history %q", after)
	}

	// A summary that was written for the slot needs no model.
	_, err = r.gateway.PatchSlot(ctx, r.key(), "branch", func(s *models.ContextSlot) {
		s.Mode, s.Focused = models.SlotFocused, &models.Focus{SummaryOverride: "decided: blue"}
	})
	r.must(err)
	if n := merge(); n != 1 || r.history("m1")[5] != "system decided: blue" {
		t.Errorf("%d messages, history %q", n, r.history("m1"))
	}
}

// What was merged while its summary was written is not merged once more.
func TestMergeWhileASummaryIsWritten(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 0)
	r.settings.Compaction.Enabled = false
	r.start()
	ctx := context.Background()
	r.talk(1)
	_, err := r.gateway.DeriveSlot(ctx, r.key(), models.DefaultSlot, slot.Derive{ID: "branch"})
	r.must(err)
	_, err = r.gateway.SwitchSlot(ctx, r.key(), "branch")
	r.must(err)
	r.talk(1)
	r.summarises(func(*agenttest.ChatRequest) agenttest.Reply {
		if c, err := r.gateway.MergeSlot(ctx, r.key(), "branch", models.DefaultSlot, gateway.MergeMessages); err != nil || c.Changed != 2 {
			t.Errorf("merged meanwhile: %+v, %v", c, err)
		}
		return agenttest.Say("too late")
	})
	if _, err := r.gateway.MergeSlot(ctx, r.key(), "branch", models.DefaultSlot, gateway.MergeSummary); !errors.Is(err, store.ErrConflict) {
		t.Errorf("the summary: %v", err)
	}
	if history := r.history("m1"); len(history) != 4 {
		t.Errorf("history %q", history)
	}
}

// vanishing is a store from which something goes just before a context is read.
type vanishing struct {
	store.Store

	gone func()
}

// LoadContext reads what is left.
func (v *vanishing) LoadContext(ctx context.Context, key, slot string, limit int) (*store.SessionContext, error) {
	if gone := v.gone; gone != nil {
		v.gone = nil
		gone()
	}
	return v.Store.LoadContext(ctx, key, slot, limit)
}

func TestMergeOfWhatGoesMeanwhile(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 0)
	going := &vanishing{Store: r.store}
	r.store = going
	r.start()
	r.talk(1)
	ctx, key := context.Background(), r.key()
	for _, c := range []struct {
		remove func() error
		want   error
	}{
		{func() error { _, err := r.gateway.DeleteSlot(ctx, key, "branch", false); return err }, slot.ErrNotFound},
		{func() error { _, err := r.gateway.Delete(ctx, key, false); return err }, store.ErrNotFound},
	} {
		_, err := r.gateway.DeriveSlot(ctx, key, models.DefaultSlot, slot.Derive{ID: "branch"})
		r.must(err)
		going.gone = func() { r.must(c.remove()) }
		if _, err := r.gateway.MergeSlot(ctx, key, "branch", models.DefaultSlot, gateway.MergeSummary); !errors.Is(err, c.want) {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
}

// What a summary cost is counted.
func TestSummariesAreAccountedFor(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 0)
	r.summarises(func(*agenttest.ChatRequest) agenttest.Reply {
		return agenttest.Reply{Text: "what was said", PromptTokens: 7_000_000, CompletionTokens: 3}
	})
	r.start()
	r.talk(6)
	day := store.DayOf(r.gateway.Today())
	totals, err := r.gateway.Usage(context.Background(), store.UsageQuery{By: store.BySession, From: day - 1, To: day + 1, Limit: 10})
	r.must(err)
	if len(totals) != 1 || totals[0].Subject != r.key() || totals[0].PromptTokens < 7_000_000 || totals[0].PromptTokens > 7_100_000 || totals[0].Turns != 6 {
		t.Errorf("%+v", totals)
	}
}

func TestCompactionInChinese(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 0)
	r.chat.Language = "zh"
	r.start()
	r.talk(1)
	r.say(whisper("c1", "ann", "/压缩"))
	if in := r.ends("c1", models.InboundDone); in.Reply.Content != text.Say(text.Chinese, text.CompactNothing) {
		t.Errorf("reply %q", in.Reply.Content)
	}
	// The bare word is a message like any other.
	r.say(whisper("m2", "ann", "压缩"))
	r.ends("m2", models.InboundDone)
	if history := r.history("m1"); len(history) != 4 {
		t.Errorf("history %q", history)
	}
}
