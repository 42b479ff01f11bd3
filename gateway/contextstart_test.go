package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/agents/openai"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
	"github.com/chatkeep/chatkeep/store"
)

// cacheRig is a rig whose agent is a model before a strict provider that keeps what it
// was sent for five minutes, with a clock that can be set forward. In every fifth turn
// the model calls a tool.
type cacheRig struct {
	*rig

	provider *agenttest.Server
	time     *ahead
	turns    int
	key      string
}

func newCacheRig(t *testing.T, mode prune.Mode, window int) *cacheRig {
	t.Helper()
	r := &cacheRig{rig: newRig(t), time: &ahead{Clock: clock.Real()}}
	r.clock = r.time
	r.chat.Streaming, r.chat.WorkingSign = false, false
	r.config.Lease = time.Minute
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	r.provider = agenttest.NewServer(agenttest.ServerOptions{ContextWindow: window})
	r.provider.Otherwise(func(req *agenttest.ChatRequest) agenttest.Reply {
		asked := req.Last("user").Text()
		if strings.HasSuffix(asked, "5?") && req.Messages[len(req.Messages)-1].Role == "user" {
			return agenttest.Reply{ToolCalls: []agenttest.ReplyCall{{ID: fmt.Sprint("call_", len(r.provider.Requests())), Name: "look", Arguments: "{}"}}}
		}
		return agenttest.Say("This is what is known about " + asked)
	})
	agent, err := openai.New(openai.Config{BaseURL: r.provider.Start(t), Model: "test-model", RetryBudget: -1}, &http.Client{Transport: transport}, clock.Real())
	if err != nil {
		t.Fatal(err)
	}
	look := function{name: "look", call: func() agents.ToolResult { return agents.ToolResult{Text: strings.Repeat("found it ", 60)} }}
	r.settings.Agents["assistant"] = gateway.Agent{
		ID: "assistant", Agent: agent, SystemPrompt: "You help.", Timeout: time.Minute, ContextWindow: window, Tools: fixed{look},
	}
	r.settings.MaxMessages, r.settings.MaxTokens = 20, window
	r.settings.Pruning = prune.Settings{
		Enabled: true, Mode: mode, KeepRecent: 4, MaxResultSize: 200, SaveToolCalls: true, KeepToolCalls: 2, CacheTTL: 5 * time.Minute,
	}
	return r
}

// talk has some turns, each so long after the one before.
func (r *cacheRig) talk(turns int, pause time.Duration) {
	r.t.Helper()
	for range turns {
		r.turns++
		r.time.advance(pause)
		id := fmt.Sprint("m", r.turns)
		r.say(whisper(id, "lin", fmt.Sprintf("question %d?", r.turns)))
		r.key = r.ends(id, models.InboundDone).SessionKey
	}
}

// sentLines are the messages of a request as the provider saw them.
func sentLines(t *testing.T, req *agenttest.ChatRequest) []string {
	t.Helper()
	var out []string
	for _, m := range req.Messages {
		line, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(line))
	}
	return out
}

// kept counts the requests that begin with all of the one before, of those that have one
// before them.
func (r *cacheRig) kept() (kept, all int) {
	r.t.Helper()
	var before string
	for i, req := range r.provider.Requests() {
		now := strings.Join(sentLines(r.t, req), "\n")
		if i > 0 {
			if all++; strings.HasPrefix(now, before+"\n") {
				kept++
			}
		}
		before = now
	}
	return kept, all
}

// view is what the next turn would send before its message, behind the system part.
func (r *cacheRig) view() []string {
	r.t.Helper()
	view, err := r.gateway.Context(context.Background(), r.key, models.DefaultSlot)
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, m := range view.Messages {
		if m.Role != models.RoleSystem {
			out = append(out, fmt.Sprint(m.Role, " ", m.Content))
		}
	}
	return out
}

// lastSent is the same of the last turn, which called no tool.
func (r *cacheRig) lastSent() []string {
	requests := r.provider.Requests()
	messages := requests[len(requests)-1].Messages
	var out []string
	for _, m := range messages[:len(messages)-1] {
		if m.Role != "system" {
			out = append(out, fmt.Sprint(m.Role, " ", m.Text()))
		}
	}
	return out
}

// A warm cache is worth something: a long conversation's requests begin with those
// before them, also by another gateway.
func TestAWarmCacheIsUsed(t *testing.T) {
	const turns = 300
	for _, c := range []struct {
		name   string
		mode   prune.Mode
		pause  time.Duration
		window int
		least  float64 // of the requests begin with the one before
		most   float64
	}{
		{"warm", prune.ModeCacheTTL, time.Minute, 128_000, 1, 1},
		{"warm, small window", prune.ModeCacheTTL, time.Minute, 6_000, 0.95, 0.995},
		{"cold", prune.ModeCacheTTL, 6 * time.Minute, 128_000, 0, 0.3},
		{"soft", prune.ModeSoft, time.Minute, 128_000, 0, 0.3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newCacheRig(t, c.mode, c.window)
			drain := r.run()
			r.talk(turns/2, c.pause)
			first := r.view()
			if err := <-drain(); err != nil {
				t.Fatal(err)
			}
			drain = r.run()
			equal(t, "after a restart", r.view(), first...)
			r.talk(1, c.pause)
			if c.least > 0 {
				equal(t, "sent after a restart", r.lastSent(), first...)
			}
			r.talk(turns/2-1, c.pause)
			kept, all := r.kept()
			t.Logf("%d of %d requests begin with the one before", kept, all)
			if part := float64(kept) / float64(all); part < c.least || part > c.most {
				t.Errorf("want between %v and %v of them", c.least, c.most)
			}
			if refused := r.provider.Rejections(); len(refused) > 0 {
				t.Errorf("%d requests were refused: %s", len(refused), refused[0].Message)
			}
			if err := <-drain(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// What makes a context begin differently leaves nothing behind of where it began before.
func TestAContextStartsAnew(t *testing.T) {
	const turns = 24
	slot := func(change func(*models.ContextSlot)) func(*cacheRig) error {
		return func(r *cacheRig) error {
			_, err := r.gateway.PatchSlot(t.Context(), r.key, models.DefaultSlot, change)
			return err
		}
	}
	session := func(change func(*models.Session)) func(*cacheRig) error {
		return func(r *cacheRig) error {
			return r.store.ChangeSession(t.Context(), r.key, func(tx store.SessionTx) error {
				s, err := tx.Session()
				if err != nil {
					return err
				}
				change(s)
				return tx.Update(s, r.clock.Now())
			})
		}
	}
	tx := func(change func(store.SessionTx, *cacheRig) error) func(*cacheRig) error {
		return func(r *cacheRig) error {
			return r.store.ChangeSession(t.Context(), r.key, func(tx store.SessionTx) error { return change(tx, r) })
		}
	}
	const all = 2 * turns // questions and answers
	for name, c := range map[string]struct {
		do    func(*cacheRig) error
		first string
		want  int // messages of the next context
	}{
		"nothing": {func(*cacheRig) error { return nil }, "user question 1?", all},
		"a pause": {func(r *cacheRig) error { r.time.advance(time.Hour); return nil }, "user question 15?", 20},
		"title":   {session(func(s *models.Session) { s.Title = "title" }), "user question 1?", all},
		"model":   {session(func(s *models.Session) { s.Model = "other" }), "user question 15?", 20},
		"prompt":  {session(func(s *models.Session) { s.SystemPrompt = "other" }), "user question 15?", 20},
		"budget":  {slot(func(s *models.ContextSlot) { s.Budget = &models.Budget{System: 1000} }), "user question 15?", 20},
		"undo":    {tx(func(tx store.SessionTx, r *cacheRig) error { return tx.UndoTurn(models.DefaultSlot, r.clock.Now()) }), "user question 1?", all - 2},
		"reset":   {tx(func(tx store.SessionTx, r *cacheRig) error { return tx.Reset(models.DefaultSlot, 0, r.clock.Now()) }), "", 0},
		"brought back": {tx(func(tx store.SessionTx, r *cacheRig) error {
			if err := tx.Reset(models.DefaultSlot, 0, r.clock.Now()); err != nil {
				return err
			}
			return tx.Restore(models.DefaultSlot, 0, r.clock.Now())
		}), "user question 15?", 20},
		"a summary": {tx(func(tx store.SessionTx, r *cacheRig) error {
			generation, err := tx.Generation(models.DefaultSlot)
			if err != nil {
				return err
			}
			summary := &models.SessionMessage{ID: models.NewMessageID(r.clock.Now()), Role: models.RoleSystem, Content: "summary", CreatedAt: r.clock.Now()}
			return tx.Compact(models.DefaultSlot, generation, int64(2*turns-4), summary, r.clock.Now())
		}), "user question 23?", 4},
		"deleted": {tx(func(tx store.SessionTx, r *cacheRig) error {
			_, err := tx.DropMessages(models.DefaultSlot, 10, r.clock.Now())
			return err
		}), "user question 6?", all - 10},
		"focused": {slot(func(s *models.ContextSlot) { s.Mode, s.Focused = models.SlotFocused, &models.Focus{RecentMessages: 4} }), "user question 23?", 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newCacheRig(t, prune.ModeCacheTTL, 128_000)
			r.provider.Otherwise(func(req *agenttest.ChatRequest) agenttest.Reply {
				return agenttest.Say("re: " + req.Last("user").Text())
			})
			r.start()
			r.talk(turns, time.Minute)
			if err := c.do(r); err != nil {
				t.Fatal(err)
			}
			view := r.view()
			if len(view) != c.want {
				t.Fatalf("%d messages, want %d: %.300s", len(view), c.want, view)
			}
			if len(view) > 0 && view[0] != c.first {
				t.Errorf("begins with %q, want %q", view[0], c.first)
			}
			r.talk(1, time.Second)
			before := r.view()
			r.talk(1, time.Second)
			equal(t, "sent", r.lastSent(), before...)
		})
	}
}

// A cache is as old as the last call of the model, not as the turn that it was in.
func TestACacheIsWarmAfterALongTurn(t *testing.T) {
	const turns = 24
	r := newCacheRig(t, prune.ModeCacheTTL, 128_000)
	r.provider.Otherwise(func(req *agenttest.ChatRequest) agenttest.Reply {
		if strings.HasPrefix(req.Last("user").Text(), fmt.Sprintf("question %d?", turns)) && req.Messages[len(req.Messages)-1].Role == "user" {
			r.time.advance(4 * time.Minute) // the model thinks, and then is called once more
			return agenttest.Reply{ToolCalls: []agenttest.ReplyCall{{ID: "call", Name: "look", Arguments: "{}"}}}
		}
		return agenttest.Say("re: " + req.Last("user").Text())
	})
	r.start()
	r.talk(turns, time.Second)
	before := r.view()
	if before[0] != "user question 1?" {
		t.Fatalf("begins with %q", before[0])
	}
	r.talk(1, 2*time.Minute)
	equal(t, "sent two minutes after the last call", r.lastSent(), before...)
	before = r.view()
	r.time.advance(5*time.Minute + time.Second)
	if after := r.view(); len(after) >= len(before) {
		t.Errorf("%d messages five minutes later, %d before", len(after), len(before))
	}
}
