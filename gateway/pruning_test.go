package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
)

// pruneRig is a rig whose agent looks something up in each turn, and a person who
// talks to it alone.
type pruneRig struct {
	*rig

	turns int
	key   string
}

func newPruneRig(t *testing.T, mode prune.Mode) *pruneRig {
	t.Helper()
	r := &pruneRig{rig: newRig(t)}
	r.chat.Streaming, r.chat.WorkingSign = false, false
	r.settings.Pruning = prune.Settings{
		Enabled: true, Mode: mode, KeepRecent: 4, MaxResultSize: 200, SaveToolCalls: true, KeepToolCalls: 100, CacheTTL: time.Hour,
	}
	r.mind.does(func(_ context.Context, req *agents.Request) (*agents.Response, error) {
		id := "call-" + req.InboundID[len(req.InboundID)-12:]
		return &agents.Response{FinishReason: "stop", Messages: []*models.SessionMessage{
			{Role: models.RoleAssistant, ToolCalls: []models.ToolCall{{ID: id, Name: "look", Arguments: "{}"}}},
			{Role: models.RoleTool, ToolCallID: id, Content: "result of " + req.Text + strings.Repeat(" 结果 data", 200)},
			{Role: models.RoleAssistant, Content: "re: " + req.Text},
		}}, nil
	})
	return r
}

// ask says something and waits for its answer.
func (r *pruneRig) ask() {
	r.t.Helper()
	r.turns++
	id := fmt.Sprint("m", r.turns)
	r.say(whisper(id, "lin", fmt.Sprint("question ", r.turns)))
	r.key = r.ends(id, models.InboundDone).SessionKey
}

// begin makes a session that holds messages.
func (r *pruneRig) begin(name string, messages []*models.SessionMessage) {
	r.t.Helper()
	r.key = "agent:assistant:channel:any:scope:per_peer:" + name
	session := &models.Session{
		Key: r.key, AgentID: "assistant", Channel: r.platform.Channel(), Account: r.platform.Account(), Scope: models.ScopePerPeer, ScopeID: name,
	}
	if err := r.store.CreateSession(context.Background(), session); err != nil {
		r.t.Fatal(err)
	}
	for part := range slices.Chunk(messages, 1000) {
		if err := r.store.AppendMessages(context.Background(), r.key, part); err != nil {
			r.t.Fatal(err)
		}
	}
}

// sent is what the agent was sent last, before the question, one line per message.
func (r *pruneRig) sent() []string {
	r.t.Helper()
	messages := r.mind.last().Messages
	out := make([]string, 0, len(messages)-1)
	for _, m := range messages[:len(messages)-1] {
		out = append(out, encoded(r.t, m.Role, m.Content, m.ToolCalls, m.ToolCallID))
	}
	return out
}

func encoded(t *testing.T, role models.Role, content string, calls []models.ToolCall, of string) string {
	t.Helper()
	if len(calls) == 0 {
		calls = nil
	}
	line, err := json.Marshal([]any{role, content, calls, of})
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

// view is the context that the gateway shows, in the form of sent.
func (r *pruneRig) view() (*gateway.ContextView, []string) {
	r.t.Helper()
	view, err := r.gateway.Context(context.Background(), r.key, models.DefaultSlot)
	if err != nil {
		r.t.Fatal(err)
	}
	var lines []string
	for _, m := range view.Messages {
		lines = append(lines, encoded(r.t, m.Role, m.Content, m.ToolCalls, m.ToolCallID))
	}
	return view, lines
}

// pruned lists the places of what a context shows shortened.
func pruned(view *gateway.ContextView) string {
	var out []string
	for _, m := range view.Messages {
		if m.Pruned != prune.Not {
			out = append(out, fmt.Sprint(m.Seq, " ", m.Pruned))
		}
	}
	return strings.Join(out, ", ")
}

func (r *pruneRig) prune(dryRun bool) gateway.Pruning {
	r.t.Helper()
	p, err := r.gateway.Prune(context.Background(), r.key, models.DefaultSlot, dryRun)
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// What one turn was shown, every later one is shown again, byte for byte: by another
// gateway, whatever its settings, and with pruning off; and the view of a context
// is what the next turn sends.
func TestFrozenFormsAreReplayedByAnotherGateway(t *testing.T) {
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			r := newPruneRig(t, prune.ModeSoft)
			r.store = open(t)
			drain := r.run()
			for range 4 {
				r.ask()
			}
			// The fourth turn saw the results of the first two shortened: 4, 3 and 2 of
			// the newest messages are left alone.
			first := r.sent()
			if n := strings.Count(strings.Join(first, ""), "characters in all"); n != 2 {
				t.Fatalf("%d results are shortened: %.300s", n, first)
			}
			if err := <-drain(); err != nil {
				t.Fatal(err)
			}
			r.settings.Pruning.MaxResultSize = 50
			drain = r.run()
			view, next := r.view()
			if got := pruned(view); got != "3 soft, 7 soft, 11 soft" {
				t.Errorf("shortened: %s", got)
			}
			r.ask()
			second := r.sent()
			equal(t, "sent", second, next...)
			for i, line := range first[:len(first)-4] { // the last four were recent
				if second[i] != line {
					t.Errorf("message %d was\n%s\nand is\n%s", i, line, second[i])
				}
			}
			if err := <-drain(); err != nil {
				t.Fatal(err)
			}
			r.settings.Pruning = prune.Settings{}
			drain = r.run()
			r.ask()
			equal(t, "sent without pruning", r.sent()[:len(second)-4], second[:len(second)-4]...)
			if err := <-drain(); err != nil {
				t.Fatal(err)
			}
			whole := r.history("m1")
			if len(whole) != 24 || strings.Contains(strings.Join(whole, ""), "characters") {
				t.Errorf("%d messages are stored, or not as they were", len(whole))
			}
		})
	}
}

// A failed turn decides nothing.
func TestFailedTurnsFreezeNothing(t *testing.T) {
	r := newPruneRig(t, prune.ModeSoft)
	r.start()
	r.ask()
	r.ask()
	r.mind.does(func(context.Context, *agents.Request) (*agents.Response, error) {
		return nil, &agents.Error{Kind: agents.Permanent, Err: errors.New("no")}
	})
	r.say(whisper("lost", "lin", "lost"))
	r.ends("lost", models.InboundFailed)
	stored, err := r.store.LoadContext(t.Context(), r.key, models.DefaultSlot, 100)
	if err != nil {
		t.Fatal(err)
	}
	if len(stored.Forms) != 0 {
		t.Errorf("%d forms", len(stored.Forms))
	}
}

func TestCacheTTLWaits(t *testing.T) {
	r := newPruneRig(t, prune.ModeCacheTTL)
	r.settings.Pruning.KeepToolCalls = 2
	drain := r.run()
	for range 4 {
		r.ask()
	}
	before := r.sent()
	if n := len(before); n != 12 || strings.Contains(strings.Join(before, ""), "characters in all") {
		t.Errorf("%d messages were sent, or shortened ones", n)
	}
	if p := r.prune(false); p.Changed != 0 || p.Reason != "the cache is warm" {
		t.Errorf("%+v", p)
	}
	if err := <-drain(); err != nil {
		t.Fatal(err)
	}
	r.settings.Pruning.CacheTTL = 0
	drain = r.run()
	if p := r.prune(true); p.Changed != 3 || p.Items[0].Pruned != prune.Omitted || p.Items[0].Why != prune.WhyToolCalls {
		t.Errorf("%+v", p)
	}
	r.ask()
	cold := r.sent()
	if len(cold) != 12 || strings.Count(strings.Join(cold, ""), "result of") != 2 {
		t.Errorf("%d messages were sent, want two groups of calls: %.400s", len(cold), cold)
	}
	if err := <-drain(); err != nil {
		t.Fatal(err)
	}
	r.settings.Pruning.CacheTTL = time.Hour
	drain = r.run()
	r.ask()
	warm := r.sent()
	equal(t, "prefix", warm[:len(cold)], cold...)
	if strings.Count(strings.Join(warm, ""), "result of") != 3 {
		t.Errorf("the call of the last turn is not sent while the cache is warm")
	}
	if err := <-drain(); err != nil {
		t.Fatal(err)
	}
}
