package openai

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/models"
)

// Whatever a model does and however it fails, a strict server never gets a request
// that it must refuse.
func TestRandomConversations(t *testing.T) {
	const conversations, turns = 60, 6
	for seed := range uint64(conversations) {
		r := rand.New(rand.NewPCG(seed, 1))
		server := agenttest.NewServer(agenttest.ServerOptions{RequireReasoning: seed%2 == 0})
		server.Otherwise(randomReplies(seed, seed%2 == 0))
		agent, _ := newAgent(t, server, func(c *Config) { c.MaxToolRounds, c.Timeout = 4, 10*time.Second })
		history := []*models.SessionMessage{{Role: models.RoleSystem, Content: "s"}}
		answered := 0
		for turn := range turns {
			messages := slices.Concat(history, []*models.SessionMessage{{Role: models.RoleUser, Content: fmt.Sprint("question ", turn)}})
			var seen recorder
			response, err := agent.Respond(t.Context(), &agents.Request{
				InboundID: fmt.Sprintf("inb_%d_%d", seed, turn), Messages: messages, Tools: toolset{clockTool{}}, Stream: r.IntN(2) == 0,
			}, seen.emit)
			if err != nil {
				continue
			}
			answered++
			if shown := seen.shown(); shown != "" && shown != response.Final().Content {
				t.Errorf("seed %d: shown %q, answered %q", seed, shown, response.Final().Content)
			}
			history = slices.Concat(messages, response.Messages)
		}
		if answered == 0 {
			t.Errorf("seed %d: no turn was answered", seed)
		}
		for _, refused := range server.Rejections() {
			t.Errorf("seed %d: refused: %s\n%s", seed, refused.Message, refused.Body)
		}
	}
}

func randomReplies(seed uint64, reasons bool) func(*agenttest.ChatRequest) agenttest.Reply {
	var mu sync.Mutex // a cut connection's handler may still run beside the next one
	r := rand.New(rand.NewPCG(seed, 2))
	return func(*agenttest.ChatRequest) agenttest.Reply {
		mu.Lock()
		defer mu.Unlock()
		return randomReply(r, reasons)
	}
}

// randomReply is a text, calls of all sorts, or a fault.
func randomReply(r *rand.Rand, reasons bool) agenttest.Reply {
	reply := agenttest.Reply{Text: strings.Repeat("答 word ", 1+r.IntN(9)), ChunkRunes: 1 + r.IntN(12), NoStream: r.IntN(5) == 0}
	if reasons {
		reply.Reasoning = new([]string{"", "thinking"}[r.IntN(2)])
	}
	switch r.IntN(8) {
	case 0:
		return agenttest.RateLimited(r.IntN(3))
	case 1:
		return agenttest.Fail(500, "", "oops")
	case 2:
		reply.Fault = []agenttest.Fault{agenttest.FaultCut, agenttest.FaultHangUp, agenttest.FaultBroken, agenttest.FaultError, agenttest.FaultNoChoices}[r.IntN(5)]
		reply.After = r.IntN(6)
	case 3, 4, 5:
		if r.IntN(2) == 0 {
			reply.Text = ""
		}
		for range 1 + r.IntN(3) {
			reply.ToolCalls = append(reply.ToolCalls, agenttest.ReplyCall{
				ID:        []string{"", "call_0", "call_1", strings.Repeat("x", 50)}[r.IntN(4)],
				Name:      []string{"time", "time", "no such", ""}[r.IntN(4)],
				Arguments: []string{`{}`, `{"zone":"UTC"}`, ``, `{"zone":`, `[1]`, `{"a":"\ud800"}`}[r.IntN(6)],
			})
		}
	}
	return reply
}
