package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/agents/openai"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/lifecycle"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/compact"
	"github.com/chatkeep/chatkeep/store"
)

// summaryRig is a rig whose agent is a model before a strict provider, which tells
// requests for summaries from those for answers.
type summaryRig struct {
	*rig

	provider *agenttest.Server
	// summarise and answer say what the provider replies; nil: something short, an echo.
	summarise, answer atomic.Pointer[func(*agenttest.ChatRequest) agenttest.Reply]
	said              int
}

// newSummaryRig makes a rig with an agent that is told to have so large a window,
// while its provider's own is real; zero: unbounded.
func newSummaryRig(t *testing.T, window, real int) *summaryRig {
	t.Helper()
	r := &summaryRig{rig: newRig(t)}
	r.chat.Streaming, r.chat.WorkingSign = false, false
	r.config.Lease = time.Minute // a turn that is taken over asks the model once more
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	r.provider = agenttest.NewServer(agenttest.ServerOptions{ContextWindow: real})
	agent, err := openai.New(openai.Config{BaseURL: r.provider.Start(t), Model: "test-model", RetryBudget: -1}, &http.Client{Transport: transport}, clock.Real())
	if err != nil {
		t.Fatal(err)
	}
	r.settings.Agents["assistant"] = gateway.Agent{
		ID: "assistant", Agent: agent, SystemPrompt: "You help.", Timeout: time.Minute, ContextWindow: window,
	}
	r.settings.Compaction = gateway.Compaction{Enabled: true, MaxTokens: 500, Threshold: 0.8, MinMessages: 8, KeepRecent: 4}
	r.provider.Otherwise(func(req *agenttest.ChatRequest) agenttest.Reply {
		reply, instead := agenttest.Echo, r.answer.Load()
		if forSummary(req) {
			reply, instead = func(*agenttest.ChatRequest) agenttest.Reply { return agenttest.Say("what was said") }, r.summarise.Load()
		}
		if instead != nil {
			reply = *instead
		}
		return reply(req)
	})
	return r
}

func forSummary(req *agenttest.ChatRequest) bool {
	return strings.HasPrefix(req.Messages[0].Text(), "You condense")
}

func (r *summaryRig) summarises(reply func(*agenttest.ChatRequest) agenttest.Reply) {
	r.summarise.Store(&reply)
}
func (r *summaryRig) answers(reply func(*agenttest.ChatRequest) agenttest.Reply) {
	r.answer.Store(&reply)
}

// requests returns those for summaries and those for answers.
func (r *summaryRig) requests() (summaries, answers []*agenttest.ChatRequest) {
	for _, req := range r.provider.Requests() {
		if forSummary(req) {
			summaries = append(summaries, req)
		} else {
			answers = append(answers, req)
		}
	}
	return summaries, answers
}

// long is a text of about fifty tokens.
func long(n int) string {
	return fmt.Sprintf("message %d about ORD-%d ", n, 1000+n) + strings.Repeat("and so on ", 16)
}

// talk has n turns in the direct chat of ann and returns the last message's id.
func (r *summaryRig) talk(n int) string {
	r.t.Helper()
	id := ""
	for range n {
		r.said++
		id = fmt.Sprint("m", r.said)
		r.say(whisper(id, "ann", long(r.said)))
		r.ends(id, models.InboundDone)
	}
	return id
}

func (r *summaryRig) key() string { return r.inbound("m1").SessionKey }

func (r *summaryRig) session() *models.Session {
	r.t.Helper()
	s, err := r.store.Session(context.Background(), r.key())
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// everything is what is stored of the session, to compare.
func (r *summaryRig) everything() string {
	r.t.Helper()
	messages, err := r.store.Messages(context.Background(), r.key(), models.DefaultSlot, 0, 500)
	if err != nil {
		r.t.Fatal(err)
	}
	s := r.session()
	all := fmt.Sprintf("%d %q %s", s.CompactionCount, s.CompactedSummary, s.State)
	for _, m := range messages {
		all += fmt.Sprintf("\n%+v", *m)
	}
	return all
}

// shown returns how often people saw a text.
func (r *summaryRig) shown(text string) int {
	r.t.Helper()
	n := 0
	for _, line := range r.delivered() {
		if line == text {
			n++
		}
	}
	return n
}

func (r *summaryRig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func TestContextIsSummarisedBeforeTheTurnThatIsDue(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 0)
	r.start()
	r.talk(4) // some four hundred tokens, and the threshold is four hundred
	r.talk(1)
	summaries, answers := r.requests()
	if len(summaries) != 1 {
		t.Fatalf("%d summaries", len(summaries))
	}
	if s := r.session(); s.CompactionCount != 1 || s.State != models.SessionActive || !strings.Contains(s.CompactedSummary, "what was said") {
		t.Errorf("%+v", s)
	}
	last := answers[len(answers)-1]
	var shown []string
	for _, m := range last.Messages {
		shown = append(shown, m.Role+" "+strings.Fields(m.Text())[0])
	}
	equal(t, "the request after it", shown, "system You", "user message", "assistant message", "user message", "assistant message", "user message")
	if summary := last.Messages[0].Text(); !strings.Contains(summary, "Summary of the conversation") || !strings.Contains(summary, "what was said") || !strings.Contains(summary, "- ORD-1001") || strings.Contains(summary, "ORD-1004") {
		t.Errorf("the summary in the request:\n%s", summary)
	}
	view, err := r.gateway.Context(context.Background(), r.key(), models.DefaultSlot)
	if err != nil || !view.Messages[1].IsCompacted {
		t.Errorf("context %+v, %v", view, err)
	}
	history := r.history("m1")
	if len(history) != 11 || !strings.HasPrefix(history[8], "system what was said\n") {
		t.Errorf("history %q", history)
	}
	r.talk(1)
	if again, _ := r.requests(); len(again) != 1 {
		t.Error("it was summarised again at once")
	}
}

// What the provider counted takes precedence over what is counted here.
func TestProvidersCountDecides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prompt, turns, summaries int
	}{{5000, 5, 1}, {20, 9, 0}} {
		t.Run(fmt.Sprint(c.prompt), func(t *testing.T) {
			t.Parallel()
			r := newSummaryRig(t, 100_000, 0)
			if c.prompt > 1000 {
				r.settings.Compaction.MaxTokens = 5000
			}
			r.answers(func(req *agenttest.ChatRequest) agenttest.Reply {
				reply := agenttest.Echo(req)
				reply.PromptTokens = c.prompt
				return reply
			})
			r.start()
			r.talk(c.turns)
			if summaries, _ := r.requests(); len(summaries) != c.summaries {
				t.Errorf("%d summaries after %d turns; the context counts %d tokens here", len(summaries), c.turns, r.session().TotalTokenCount)
			}
		})
	}
}

// A history that no longer fits is summarised, not cut.
func TestHistoryThatDoesNotFitIsSummarised(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]func(*summaryRig){
		"messages": func(r *summaryRig) { r.settings.MaxMessages = 8 },
		"tokens":   func(r *summaryRig) { r.settings.MaxTokens = 500 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newSummaryRig(t, 100_000, 0)
			r.settings.Compaction.MaxTokens = 1_000_000
			limit(r)
			r.start()
			r.talk(12)
			if n := r.session().CompactionCount; n < 2 || n > 5 {
				t.Errorf("%d compactions in 12 turns", n)
			}
			_, answers := r.requests()
			for i, req := range answers {
				all := string(req.Body)
				for n := 1; n <= i; n++ {
					if !strings.Contains(all, fmt.Sprintf("ORD-%d", 1000+n)) {
						t.Errorf("request %d knows nothing of ORD-%d", i, 1000+n)
					}
				}
			}
		})
	}
}

// What stays beside a summary leaves room for the next turns, whatever bounds the
// context: else each of them would need a summary.
func TestASummaryLeavesRoom(t *testing.T) {
	t.Parallel()
	const turns, each = 30, 98 // tokens of a turn
	for name, c := range map[string]struct {
		keep   int
		set    func(*summaryRig)
		budget *models.Budget
	}{
		"window": {keep: 16, set: func(r *summaryRig) {
			agent := r.settings.Agents["assistant"]
			agent.MaxTokens, agent.ContextWindow = 100, 2000
			agent.SystemPrompt = strings.Repeat("Be kind to them all. ", 200) // half of it
			r.settings.Agents["assistant"], r.settings.Compaction.MaxTokens = agent, 1_000_000
		}},
		"budget":    {keep: 10, set: func(r *summaryRig) { r.settings.Compaction.MaxTokens = 1_000_000 }, budget: &models.Budget{History: 6 * each}},
		"threshold": {keep: 16, set: func(r *summaryRig) { r.settings.Compaction.MaxTokens = 10 * each }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newSummaryRig(t, 100_000, 0)
			r.settings.Compaction.KeepRecent = c.keep
			c.set(r)
			r.start()
			r.talk(1)
			if c.budget != nil {
				_, err := r.gateway.PatchSlot(context.Background(), r.key(), models.DefaultSlot, func(s *models.ContextSlot) { s.Budget = c.budget })
				r.must(err)
			}
			r.talk(turns)
			if n := r.session().CompactionCount; n < 2 || n > turns/3 {
				t.Errorf("%d summaries in %d turns", n, turns)
			}
		})
	}
}

func TestSlotThatKeepsOutCompaction(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 0)
	r.start()
	r.talk(1)
	if _, err := r.gateway.PatchSlot(context.Background(), r.key(), models.DefaultSlot, func(s *models.ContextSlot) { s.Compact = false }); err != nil {
		t.Fatal(err)
	}
	r.talk(6)
	r.say(whisper("c1", "ann", "/compact"))
	if in := r.ends("c1", models.InboundDone); in.Reply.Content != text.Say(text.English, text.CompactExcluded, models.DefaultSlot) {
		t.Errorf("reply %q", in.Reply.Content)
	}
	compacted, err := r.gateway.Compact(context.Background(), r.key(), "", "", false)
	if summaries, _ := r.requests(); err != nil || compacted.Reason != string(compact.Excluded) || len(summaries) > 0 {
		t.Errorf("%+v, %v after %d summaries", compacted, err, len(summaries))
	}
}

// Sessions of agents that are not configured any more are passed over: they do not
// make the job fail, nor end its pass.
func TestTheJobPassesOverSessionsWithoutAnAgent(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 0)
	r.start()
	ctx := context.Background()
	r.talk(2)
	r.settings.Compaction.MaxTokens, r.settings.Compaction.MinMessages, r.settings.Compaction.KeepRecent = 10, 2, 1
	delete(r.settings.Agents, "assistant")
	r.gateway.Reload(r.settings)
	report, err := r.gateway.RunJob(ctx, lifecycle.Compact, false)
	r.must(err)
	if report.Error != "" || report.Skipped != 1 || report.Reasons["no agent"] != 1 {
		t.Errorf("%+v", report)
	}
}

// The job does not spend again and again where a model has no summary to give: it tries
// more and more rarely, until one succeeds.
func TestTheJobRestsWhereSummariesFail(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 0)
	ahead := &ahead{Clock: clock.Real()}
	r.clock, r.settings.Compaction.Enabled = ahead, false
	r.summarises(func(*agenttest.ChatRequest) agenttest.Reply {
		return agenttest.Say(strings.Repeat("endless words ", 500))
	})
	r.start()
	r.talk(12)
	r.settings.Compaction.Enabled = true
	r.gateway.Reload(r.settings)
	asked := func() int { s, _ := r.requests(); return len(s) }
	days := func(n int) (report *lifecycle.Report) {
		var err error
		for range n * 24 * 12 {
			report, err = r.gateway.RunJob(context.Background(), lifecycle.Compact, false)
			r.must(err)
			ahead.advance(5 * time.Minute)
		}
		return report
	}
	report := days(1)
	if n := asked(); n < 5 || n > 9 || report.Reasons["failed before"] != 1 || report.Error != "" {
		t.Errorf("%d requests on the first day, then %+v", n, report)
	}
	before := asked()
	if days(4); asked()-before > 4 {
		t.Errorf("%d requests in four days", asked()-before)
	}
	dry, err := r.gateway.RunJob(context.Background(), lifecycle.Compact, true)
	if r.must(err); dry.Changed != 0 || dry.Reasons["failed before"] != 1 {
		t.Errorf("dry run: %+v", dry)
	}
	r.summarise.Store(nil)
	if days(1); r.session().CompactionCount != 1 {
		t.Errorf("%+v", r.session())
	}
}

// The job spends nothing where nothing is left to spend.
func TestTheJobKeepsToBudgets(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 0)
	r.settings.Compaction.Enabled = false
	r.start()
	r.talk(12)
	s := r.settings
	s.Compaction.Enabled, s.Limits.TokensPerDay = true, map[store.BudgetKind]int64{store.BudgetAgent: 10}
	r.gateway.Reload(s)
	spent := store.Budget{Day: store.DayOf(r.gateway.Today()), Kind: store.BudgetAgent, Subject: "assistant"}
	r.must(r.store.AddUsage(context.Background(), nil, []store.Spending{{Budget: spent, Tokens: 10}}))
	run := func() *lifecycle.Report {
		report, err := r.gateway.RunJob(context.Background(), lifecycle.Compact, false)
		r.must(err)
		return report
	}
	if report := run(); report.Changed != 0 || report.Reasons["over budget"] != 1 || r.session().CompactionCount != 0 {
		t.Errorf("%+v", report)
	}
	s.Limits.TokensPerDay = nil
	r.gateway.Reload(s)
	if report := run(); report.Changed != 1 {
		t.Errorf("%+v", report)
	}
}
