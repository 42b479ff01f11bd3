package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/agents/mcp"
	"github.com/chatkeep/chatkeep/agents/mcp/mcptest"
	"github.com/chatkeep/chatkeep/agents/openai"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
)

// toolRig is a rig whose agent is a model before a strict provider, with the tools
// of a server on streamable HTTP, and more.
type toolRig struct {
	*rig

	provider *agenttest.Server
	web      *httptest.Server
}

func newToolRig(t *testing.T, window int, toolTime time.Duration, more ...agents.Tool) *toolRig {
	t.Helper()
	r := &toolRig{rig: newRig(t)}
	r.chat.Streaming, r.chat.WorkingSign = false, false
	r.config.Lease = time.Minute // a turn that is taken over asks the model once more

	forget := make(chan struct{})
	r.web = httptest.NewServer(mcptest.Handler((&mcptest.Server{Forget: forget}).MCP(), time.Minute))
	transport := &http.Transport{}
	client := &http.Client{Transport: transport}
	manager := mcp.New([]mcp.Server{{Name: "web", URL: r.web.URL}}, client, clock.Real(), slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		close(forget)
		manager.Close()
		r.web.CloseClientConnections()
		r.web.Close()
		transport.CloseIdleConnections()
	})

	r.provider = agenttest.NewServer(agenttest.ServerOptions{RequireReasoning: true, ContextWindow: window})
	agent, err := openai.New(openai.Config{
		BaseURL: r.provider.Start(t), Model: "test-model", RetryBudget: -1,
		MaxToolRounds: 3, ToolTimeout: toolTime, MaxToolResultBytes: 2000,
	}, client, clock.Real())
	if err != nil {
		t.Fatal(err)
	}
	r.settings.Agents["assistant"] = gateway.Agent{
		ID: "assistant", Agent: agent, SystemPrompt: "You help.", Timeout: 60 * time.Second, ContextWindow: window,
		Tools: both{manager.Toolset([]string{"web"}), fixed(more)},
	}
	return r
}

type both []agents.Toolset

func (b both) Tools(ctx context.Context) ([]agents.Tool, error) {
	var out []agents.Tool
	for _, set := range b {
		tools, err := set.Tools(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, tools...)
	}
	return out, nil
}

type fixed []agents.Tool

func (f fixed) Tools(context.Context) ([]agents.Tool, error) { return f, nil }

// function is a tool in this process.
type function struct {
	name string
	call func() agents.ToolResult
}

func (f function) Spec() agents.ToolSpec {
	return agents.ToolSpec{Name: f.name, Parameters: json.RawMessage(`{"type":"object"}`)}
}

func (f function) Call(context.Context, json.RawMessage, string) (agents.ToolResult, error) {
	return f.call(), nil
}

// whisper is a message in the direct chat of a user of its own.
func whisper(id, user, text string) *adapters.Message {
	m := said(id, user, text)
	m.Chat = adapters.Chat{ID: "direct-" + user, Type: adapters.Direct}
	return m
}

// A tool that misbehaves costs its call at most the time it has, and nothing else:
// the turn is answered, the session goes on, the result is kept within bounds.
func TestMisbehavingToolsCostTheirDeadline(t *testing.T) {
	const toolTime = 3 * time.Second // 5 MB take their time on a busy machine
	r := newToolRig(t, 100_000, toolTime,
		function{"panic", func() agents.ToolResult { panic("on purpose") }},
		function{"invalid", func() agents.ToolResult { return agents.ToolResult{Text: "a\xff\x00b"} }},
		function{"own_flood", func() agents.ToolResult { return agents.ToolResult{Text: strings.Repeat("x", 5_000_000)} }},
	)
	r.provider.Otherwise(func(req *agenttest.ChatRequest) agenttest.Reply {
		if last := req.Messages[len(req.Messages)-1]; last.Role == "user" {
			empty := ""
			name, args, _ := strings.Cut(last.Text(), " ")
			return agenttest.Reply{Reasoning: &empty, ToolCalls: []agenttest.ReplyCall{{ID: "call_0", Name: name, Arguments: args}}}
		}
		return agenttest.Say("the tool said: " + req.Last("tool").Text())
	})
	r.start()
	c := clock.Real()
	for i, tc := range []struct{ text, want string }{
		{"web__echo {\"text\":\"warm\"}", "warm"},
		{"web__hang {}", "did not answer within"},
		{"web__deaf {}", "did not answer within"},
		{"web__flood {\"bytes\":5000000}", "the result had 5000000 bytes"},
		{"own_flood {}", "the result had 5000000 bytes"},
		{"panic {}", "internal error"},
		{"invalid {}", "a\uFFFD\uFFFDb"},
		{"web__echo {\"text\":7}", "do not fit the tool's schema"},
		{"web__echo {\"text\":", "not valid JSON"},
		{"nothing {}", "there is no tool"},
		{"web__hang {\"text\":\"cut\"}", "cannot be reached"},
		{"web__fail {\"text\":\"so\"}", "Error: it went wrong: so"},
	} {
		id := fmt.Sprintf("m%d", i)
		began := c.Now()
		r.say(whisper(id, "ann", tc.text))
		if strings.Contains(tc.text, "cut") { // the server dies in the call
			r.until("the tool is called", func() bool {
				requests := r.provider.Requests()
				return strings.Contains(requests[len(requests)-1].Last("user").Text(), "cut")
			})
			cut := time.NewTimer(toolTime / 10)
			<-cut.C
			r.web.CloseClientConnections()
		}
		in := r.ends(id, models.InboundDone)
		if took := c.Now().Sub(began); strings.Contains(tc.text, "hang") && took > 5*toolTime {
			t.Errorf("%s took %s", tc.text, took)
		}
		requests := r.provider.Requests()
		got := requests[len(requests)-1].Last("tool").Text()
		if slow := strings.Contains(tc.text, "cut") || strings.Contains(tc.text, "web__flood"); slow && strings.Contains(got, "did not answer within") {
			got = tc.want // on a busy machine this takes longer than the call may last
		}
		if !strings.Contains(got, tc.want) || len(got) > 4000 || !strings.HasPrefix(in.Reply.Content, "the tool said: ") {
			t.Errorf("%s: the model was told %.200q and said %.200q", tc.text, got, in.Reply.Content)
		}
	}
	for _, refused := range r.provider.Rejections() {
		t.Errorf("the provider refused a request: %s", refused.Message)
	}
}

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
	const conversations, turns = 200, 5
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
