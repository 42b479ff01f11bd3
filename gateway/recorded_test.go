package gateway_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/agents/openai"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
)

// recording is a conversation with many tool calls, one message per line, as the
// tool loop stored it.
var recording = filepath.Join("testdata", "toolheavy.jsonl")

// recordEnv records the conversation anew.
const recordEnv = "CHATKEEP_RECORD"

// TestRecordConversation writes the recording: a model behind a strict provider and
// the tools of a server on streamable HTTP.
func TestRecordConversation(t *testing.T) {
	if os.Getenv(recordEnv) == "" {
		t.Skip("set " + recordEnv + " to record the conversation again")
	}
	const turns = 14
	r := newToolRig(t, 200_000, time.Minute)
	agent, err := openai.New(openai.Config{BaseURL: r.provider.Start(t), Model: "test-model", RetryBudget: -1}, http.DefaultClient, clock.Real())
	if err != nil {
		t.Fatal(err)
	}
	settings := r.settings.Agents["assistant"]
	settings.Agent = agent
	r.settings.Agents["assistant"] = settings
	asked := 0
	r.provider.Otherwise(func(req *agenttest.ChatRequest) agenttest.Reply {
		thought := "Let me see."
		rounds := 0
		for i := len(req.Messages) - 1; req.Messages[i].Role != "user"; i-- {
			if len(req.Messages[i].ToolCalls) > 0 {
				rounds++
			}
		}
		var turn int
		if _, err := fmt.Sscanf(req.Last("user").Text(), "question %d", &turn); err != nil {
			t.Error(err)
		}
		if rounds > turn%3 {
			return agenttest.Say(fmt.Sprintf("This is what I found out about question %d.", turn))
		}
		reply := agenttest.Reply{Reasoning: &thought}
		for range 1 + (turn+rounds)%2 {
			asked++
			call := agenttest.ReplyCall{ID: fmt.Sprint("call_", asked), Name: "web__flood", Arguments: fmt.Sprintf(`{"bytes":%d}`, []int{300, 1500, 4000, 9000, 14000}[asked%5])}
			if asked%4 == 0 {
				call.Name, call.Arguments = "web__echo", fmt.Sprintf(`{"text":%q}`, strings.Repeat("a large argument 大段文字 ", 120))
			}
			reply.ToolCalls = append(reply.ToolCalls, call)
		}
		return reply
	})
	r.start()
	for turn := range turns {
		id := fmt.Sprint("m", turn)
		r.say(whisper(id, "lin", fmt.Sprintf("question %d: what do we know about it?", turn)))
		r.ends(id, models.InboundDone)
	}
	messages, err := r.store.Messages(t.Context(), r.inbound("m0").SessionKey, models.DefaultSlot, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(recording), 0o750); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(recording)
	if err != nil {
		t.Fatal(err)
	}
	lines := json.NewEncoder(out)
	for _, m := range messages {
		if err := lines.Encode(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

func recorded(t *testing.T) []*models.SessionMessage {
	t.Helper()
	in, err := os.Open(recording)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out []*models.SessionMessage
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := &models.SessionMessage{}
		if err := json.Unmarshal(lines.Bytes(), m); err != nil {
			t.Fatal(err)
		}
		m.Seq, m.Slot = 0, ""
		out = append(out, m)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// What pruning makes of a conversation that was full of tools.
func TestPruningOfARecordedConversation(t *testing.T) {
	messages := recorded(t)
	calls := 0
	for _, m := range messages {
		calls += len(m.ToolCalls)
	}
	documented := prune.Settings{KeepRecent: 10, MaxResultSize: 2000, SaveToolCalls: true, KeepToolCalls: 5}
	allCalls, noCalls := documented, documented
	allCalls.KeepToolCalls, noCalls.SaveToolCalls = 1000, false
	t.Logf("%d messages, %d calls", len(messages), calls)
	for _, c := range []struct {
		name     string
		settings prune.Settings
		mode     prune.Mode
		window   int
	}{
		{"soft, all calls kept", allCalls, prune.ModeSoft, 128_000},
		{"cache_ttl, all calls kept", allCalls, prune.ModeCacheTTL, 128_000},
		{"cache_ttl, half the window", allCalls, prune.ModeCacheTTL, 60_000},
		{"hard, all calls kept", allCalls, prune.ModeHard, 128_000},
		{"soft, 5 calls kept", documented, prune.ModeSoft, 128_000},
		{"no calls kept", noCalls, prune.ModeSoft, 128_000},
	} {
		r := newPruneRig(t, c.mode)
		c.settings.Mode = c.mode
		r.settings.Pruning = c.settings
		agent := r.settings.Agents["assistant"]
		agent.ContextWindow = c.window
		r.settings.Agents["assistant"] = agent
		r.settings.MaxMessages, r.settings.MaxTokens = 1000, 0
		r.start()
		r.begin("recorded", messages)
		whole, lines := r.view()
		before := len(strings.Join(lines, "\n"))
		done := r.prune(false)
		view, lines := r.view()
		t.Logf("%-26s: %2d of %d messages, %5d tokens, %6d bytes -> %2d messages, %5d tokens, %6d bytes; %2d changed", c.name,
			len(whole.Messages), len(messages), whole.Tokens, before, len(view.Messages), view.Tokens, len(strings.Join(lines, "\n")), done.Changed)
		if done.Changed == 0 || view.Tokens >= whole.Tokens {
			t.Errorf("%s: %d changed, %d tokens after %d", c.name, done.Changed, view.Tokens, whole.Tokens)
		}
	}
}
