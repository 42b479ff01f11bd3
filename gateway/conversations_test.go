package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
	"github.com/chatkeep/chatkeep/store"
)

// moody is a model that talks, calls tools well and badly, and fails, by chance.
type moody struct {
	mu      sync.Mutex
	rand    *rand.Rand
	counts  map[string]int
	settled atomic.Bool // it only talks
}

func (m *moody) count(what string) { m.counts[what]++ }

func (m *moody) reply(req *agenttest.ChatRequest) agenttest.Reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := req.Messages[len(req.Messages)-1]
	answer := agenttest.Say("I heard: " + strings.Repeat(last.Text()[:min(len(last.Text()), 40)]+" ", 1+m.rand.IntN(12)))
	answer.ChunkRunes = 200
	if m.settled.Load() {
		return answer
	}
	switch p := m.rand.IntN(100); {
	case p < 4:
		m.count("refusals")
		return agenttest.Fail(http.StatusBadRequest, "content_filter", "I would rather not.")
	case p < 8:
		m.count("outages")
		return agenttest.Fail(http.StatusServiceUnavailable, "overloaded", "Later.")
	case p < 11:
		m.count("cut answers")
		answer.Fault, answer.After = agenttest.FaultHangUp, 1
		return answer
	case p < 40 || last.Role == "tool" && p < 65:
		m.count("answers")
		if m.rand.IntN(2) == 0 {
			thought := "I think."
			answer.Reasoning = &thought
		}
		return answer
	}
	thought := strings.Repeat("Hm. ", m.rand.IntN(3)) // an empty one counts too
	reply := agenttest.Reply{Reasoning: &thought, ChunkRunes: 50}
	for i := range 1 + m.rand.IntN(3) {
		reply.ToolCalls = append(reply.ToolCalls, m.call(i))
	}
	if m.rand.IntN(3) == 0 {
		reply.Text = "Let me look."
	}
	return reply
}

func (m *moody) call(i int) agenttest.ReplyCall {
	ids := []string{"", "call_0", fmt.Sprintf("call_%d", i), strings.Repeat("long", 20), fmt.Sprintf("x%d", m.rand.Uint32())}
	calls := []struct{ name, arguments string }{
		{"pull", `{"lever":"red"}`},
		{"web__echo", `{"text":"hello"}`},
		{"web__echo", `{"text":"` + strings.Repeat("wide 宽 ", m.rand.IntN(100)) + `"}`},
		{"web__add", `{"a":1,"b":2}`},
		{"web__add", `{"a":1,"b":2}`},
		{"web__picture", ``},
		{"web__document", `{}`},
		{"web__fail", `{"text":"no"}`},
		{"web__flood", `{"bytes":20000}`},
		{"web__add", `{"a":"one"}`},
		{"web__echo", `{"text":`},
		{"web__echo", `[]`},
		{"no such tool!", `{}`},
		{"panic", `{}`},
		{"invalid", `{}`},
	}
	call := calls[m.rand.IntN(len(calls))]
	if m.rand.IntN(60) == 0 {
		call.name, call.arguments = "web__hang", `{}`
	}
	m.count("calls")
	return agenttest.ReplyCall{ID: ids[m.rand.IntN(len(ids))], Name: call.name, Arguments: call.arguments}
}

// Whatever models, tools and people do, a provider that refuses every malformed
// request has nothing to refuse, and sees each group of calls and results again
// exactly as it was.
func TestToolConversationsAreNeverRefused(t *testing.T) {
	const conversations, turns = 40, 5
	r := newToolRig(t, 16_000, 300*time.Millisecond,
		function{"panic", func() agents.ToolResult { panic("on purpose") }},
		function{"invalid", func() agents.ToolResult { return agents.ToolResult{Text: "a\xff\x00b"} }},
	)
	r.settings.MaxMessages, r.settings.MaxTokens = 14, 5000 // both cut
	model := &moody{rand: rand.New(rand.NewPCG(6, 1)), counts: map[string]int{}}
	r.provider.Otherwise(model.reply)
	r.start()

	chance := rand.New(rand.NewPCG(6, 2))
	outcomes := map[models.InboundState]int{}
	for turn := range turns + 1 {
		if turn == turns {
			model.settled.Store(true) // one quiet turn each, to see the histories once more
		}
		for n := range conversations {
			id := fmt.Sprintf("m-%d-%d", n, turn)
			r.say(whisper(id, fmt.Sprintf("user-%d", n), fmt.Sprintf("conversation-%d turn %d %s", n, turn, strings.Repeat("text ", chance.IntN(60)))))
			if turn < turns && chance.IntN(12) == 0 {
				if _, err := r.gateway.Cancel(context.Background(), r.inbound(id).SessionKey, false); err != nil {
					t.Logf("cancel: %v", err) // a session that is not there yet
				}
			}
		}
		for n := range conversations {
			id := fmt.Sprintf("m-%d-%d", n, turn)
			r.until(id+" has its outcome", func() bool { return r.inbound(id).State.Final() })
			outcomes[r.inbound(id).State]++
		}
	}
	for _, refused := range r.provider.Rejections() {
		t.Errorf("the provider refused a request: %s\n%.2000s", refused.Message, refused.Body)
	}
	groups := checkVerbatim(t, r.provider.Requests())
	model.mu.Lock()
	counts := maps.Clone(model.counts)
	model.mu.Unlock()
	t.Logf("%d conversations, %d requests, outcomes %v, model %v, %d calls seen again", conversations, len(r.provider.Requests()), outcomes, counts, groups)
	if outcomes[models.InboundDone] < conversations || outcomes[models.InboundFailed] == 0 || outcomes[models.InboundCancelled] == 0 || groups < conversations {
		t.Error("the test did not see enough of everything")
	}
}

// checkVerbatim holds what a conversation shows of a call, its message and its
// result against what it showed before, and returns how many it saw again.
func checkVerbatim(t *testing.T, requests []*agenttest.ChatRequest) int {
	t.Helper()
	type shown struct{ turn, text string }
	before := map[string]shown{}
	again := 0
	see := func(key, turn, text string) {
		switch old, ok := before[key]; {
		case !ok:
			before[key] = shown{turn, text}
		case old.text != text:
			t.Errorf("%s was shown as\n%.500s\nand is now\n%.500s", key, old.text, text)
		case old.turn != turn:
			again++
			before[key] = shown{turn, text}
		}
	}
	for _, req := range requests {
		turn := req.Last("user").Text()
		asked := "" // ids may come again, but not in the turn of one question
		for _, m := range req.Messages {
			switch {
			case m.Role == "user":
				asked = m.Text()
			case !strings.HasPrefix(asked, "conversation-"): // its question was cut off
			case m.Role == "tool":
				see(asked+" result "+m.ToolCallID, turn, string(m.Content))
			case len(m.ToolCalls) > 0:
				group, err := json.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				see(asked+" calls "+m.ToolCalls[0].ID, turn, string(group))
			}
		}
	}
	return again
}

// manyConversations is how many conversations [TestConversationsSurviveEverything] has.
const manyConversations = "CHATKEEP_TEST_CONVERSATIONS"

// Conversations in which everything happens that can: tools that fail, models that are
// cut off, cancels, undo, reset, decisions on calls, pruning in every mode and
// compaction in between. The strict provider has nothing to refuse.
func TestConversationsSurviveEverything(t *testing.T) {
	const turns = 8
	conversations := 16
	if n, err := strconv.Atoi(os.Getenv(manyConversations)); err == nil {
		conversations = n
	}
	lever := newLever()
	lever.begun = make(chan struct{}, 100*conversations)
	r := newToolRig(t, 16_000, 300*time.Millisecond, lever,
		function{"panic", func() agents.ToolResult { panic("on purpose") }},
		function{"invalid", func() agents.ToolResult { return agents.ToolResult{Text: "a\xff\x00b"} }},
	)
	modes := []prune.Mode{prune.ModeSoft, prune.ModeHard, prune.ModeCacheTTL}
	r.settings.MaxMessages, r.settings.MaxTokens = 40, 6000
	r.settings.Pruning = prune.Settings{Enabled: true, Mode: prune.ModeSoft, KeepRecent: 4, MaxResultSize: 300, SaveToolCalls: true, KeepToolCalls: 3}
	r.settings.Compaction = gateway.Compaction{Enabled: true, MaxTokens: 1500, Threshold: 0.8, MinMessages: 8, KeepRecent: 4}
	model := &moody{rand: rand.New(rand.NewPCG(8, 1)), counts: map[string]int{}}
	r.provider.Otherwise(model.reply)
	r.start()

	ctx := context.Background()
	chance := rand.New(rand.NewPCG(8, 2))
	outcomes, events := map[models.InboundState]int{}, map[string]int{}
	serial := 0
	send := func(n int, text string) string {
		serial++
		id := fmt.Sprintf("m-%d-%d", n, serial)
		r.say(whisper(id, fmt.Sprintf("user-%d", n), text))
		return id
	}
	for turn := range turns {
		settings := r.settings
		settings.Pruning.Mode = modes[turn%len(modes)]
		settings.Pruning.SaveToolCalls = turn%4 != 3
		r.gateway.Reload(settings)
		var waiting []string
		for n := range conversations {
			waiting = append(waiting, send(n, fmt.Sprintf("conversation-%d turn %d %s", n, turn, strings.Repeat("text ", chance.IntN(80)))))
			key := r.inbound(waiting[len(waiting)-1]).SessionKey
			event, command := "", ""
			switch chance.IntN(16) {
			case 0:
				event = "cancels"
				_, _ = r.gateway.Cancel(ctx, key, false) // the session may not be there yet
			case 1, 2:
				event = "prunings"
				_, _ = r.gateway.Prune(ctx, key, "", false)
			case 3, 4:
				event, command = "compactions", "/compact keep the numbers"
			case 5:
				event, command = "undos", "/undo"
			case 6:
				event, command = "retries", "/retry"
			case 7:
				if turn == turns/2 {
					event, command = "resets", "/reset"
				}
			case 8:
				event, command = "new contexts", "/new"
			}
			if event != "" {
				events[event]++
			}
			if command != "" {
				waiting = append(waiting, send(n, command))
			}
		}
		pending, _, err := r.store.ListApprovals(ctx, store.ApprovalQuery{State: models.ApprovalPending, Limit: 500})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range pending {
			if chance.IntN(2) == 0 {
				events["decisions"]++
				_, _ = r.gateway.Decide(ctx, a.Code, chance.IntN(3) > 0) // it may be gone by now
			}
		}
		for _, id := range waiting {
			r.until(id+" has its outcome", func() bool { return r.inbound(id).State.Final() })
			outcomes[r.inbound(id).State]++
		}
	}
	r.until("nothing waits any more", func() bool {
		stats, err := r.store.Stats(ctx)
		return err == nil && stats.Inbound["received"]+stats.Inbound["running"] == 0
	})
	for _, refused := range r.provider.Rejections() {
		t.Errorf("the provider refused a request: %s\n%.2000s", refused.Message, refused.Body)
	}
	compacted := 0
	for cursor := ""; ; {
		items, next, err := r.store.ListSessions(ctx, store.SessionQuery{Limit: 500, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range items {
			compacted += s.CompactionCount
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	model.mu.Lock()
	counts := maps.Clone(model.counts)
	model.mu.Unlock()
	t.Logf("%d conversations, %d requests, %d refused, outcomes %v, model %v, events %v, %d compactions, %d approved calls made",
		conversations, len(r.provider.Requests()), len(r.provider.Rejections()), outcomes, counts, events, compacted, len(lever.pulled()))
	if compacted == 0 || events["decisions"] == 0 || len(lever.pulled()) == 0 || outcomes[models.InboundDone] < conversations {
		t.Error("the test did not see enough of everything")
	}
	seen := map[string]bool{}
	for _, key := range lever.pulled() {
		if seen[key] {
			t.Errorf("a call was made twice: %s", key)
		}
		seen[key] = true
	}
}
