package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
)

// toolbox are the tools of a test's model.
type toolbox []agents.Tool

func (b toolbox) Tools(context.Context) ([]agents.Tool, error) { return b, nil }

// tool is one of them: it says a text, once a person said so if it is guarded.
type tool struct {
	name, says string
	guarded    bool
}

func (t tool) Spec() agents.ToolSpec {
	return agents.ToolSpec{Name: t.name, Parameters: json.RawMessage(`{"type":"object"}`), NeedsApproval: t.guarded}
}

func (t tool) Call(context.Context, json.RawMessage, string) (agents.ToolResult, error) {
	return agents.ToolResult{Text: t.says}, nil
}

// withTools is a world whose model calls the tool that it is told to.
func withTools(t *testing.T, tools ...agents.Tool) *world {
	t.Helper()
	w := newWorld(t, options{settings: func(s *gateway.Settings) {
		model := s.Agents["model"]
		model.Tools = toolbox(tools)
		s.Agents["model"] = model
	}})
	w.model.Otherwise(func(r *agenttest.ChatRequest) agenttest.Reply {
		last := r.Messages[len(r.Messages)-1]
		if name, ok := strings.CutPrefix(last.Text(), "call "); ok {
			return agenttest.Call(agenttest.ReplyCall{ID: "c1", Name: name, Arguments: "{}"})
		}
		return agenttest.Say("heard " + last.Text()[:min(len(last.Text()), 40)])
	})
	return w
}

func TestApprovals(t *testing.T) {
	w := withTools(t, tool{"pull", "pulled", true})
	asked := w.work(obj{"userId": "lin", "text": "call pull"}).ok()
	code := asked.str("reply", "approvals", 0, "code")
	if len(code) != 8 || asked.str("reply", "approvals", 0, "tool") != "pull" || !strings.Contains(asked.str("reply", "notices", 0), "/approve "+code) {
		t.Fatalf("asked: %s", asked.body)
	}
	pending := w.admin(http.MethodGet, "/approvals?state=pending", nil).ok()
	if len(pending.items()) != 1 || pending.str("items", 0, "code") != code || pending.str("items", 0, "senderId") != "lin" || pending.str("items", 0, "sessionKey") != asked.str("sessionKey") {
		t.Errorf("pending: %s", pending.body)
	}
	w.admin(http.MethodGet, "/approvals?state=lost", nil).want(http.StatusBadRequest, models.CodeInvalidRequest)
	w.admin(http.MethodPost, "/approvals/NOSUCHCD/approve", nil).want(http.StatusNotFound, models.CodeNotFound)
	w.do(request{method: http.MethodGet, path: "/admin/v1/approvals", token: "work-token"}).want(http.StatusUnauthorized, models.CodeUnauthorized)

	decided := w.admin(http.MethodPost, "/approvals/"+strings.ToLower(code)+"/approve", nil).ok()
	if decided.str("decidedBy") != "admin" {
		t.Errorf("decided: %s", decided.body)
	}
	w.admin(http.MethodPost, "/approvals/"+code+"/deny", nil).want(http.StatusConflict, models.CodeConflict)
	eventually(t, "the call is made", func() bool {
		return len(w.admin(http.MethodGet, "/approvals?state=done", nil).ok().items()) == 1
	})
	eventually(t, "the model has its result", func() bool {
		return strings.Contains(string(w.admin(http.MethodGet, asked.session()+"/messages", nil).ok().body), "heard pulled")
	})

	// A caller decides on its own, and gets the answer.
	second := w.work(obj{"userId": "lin", "text": "call pull"}).ok().str("reply", "approvals", 0, "code")
	w.work(obj{"userId": "eve2", "text": "/approve " + second}).ok()
	if got := w.work(obj{"userId": "lin", "text": "/deny " + second}).ok().str("reply", "content"); !strings.Contains(got, "denied this call") {
		t.Errorf("denied: %q", got)
	}
	if n := len(w.admin(http.MethodGet, "/approvals?limit=1", nil).ok().items()); n != 1 {
		t.Errorf("%d items", n)
	}
}

func TestLargeResults(t *testing.T) {
	whole := strings.Repeat("长 line\n", 20_000)
	w := withTools(t, tool{"read", whole, false})
	turn := w.work(obj{"userId": "lin", "text": "call read"}).ok()
	list := w.admin(http.MethodGet, turn.session()+"/results", nil).ok()
	if len(list.items()) != 1 || list.str("items", 0, "tool") != "read" || fmt.Sprint(list.get("items", 0, "size")) != fmt.Sprint(float64(len(whole))) {
		t.Fatalf("results: %s", list.body)
	}
	id := list.str("items", 0, "id")
	got := w.admin(http.MethodGet, turn.session()+"/results/"+id, nil).ok()
	if string(got.body) != whole {
		t.Errorf("%d bytes of %d", len(got.body), len(whole))
	}
	messages := w.admin(http.MethodGet, turn.session()+"/messages", nil).ok()
	if seen := messages.str("items", 2, "content"); len(seen) > 70_000 || !strings.Contains(seen, id) {
		t.Errorf("the model read %d bytes", len(seen))
	}
	other := w.work(obj{"userId": "mei", "text": "hi"}).ok()
	w.admin(http.MethodGet, other.session()+"/results/"+id, nil).want(http.StatusNotFound, models.CodeNotFound)
	if n := len(w.admin(http.MethodGet, other.session()+"/results", nil).ok().items()); n != 0 {
		t.Errorf("another session has %d results", n)
	}
	w.admin(http.MethodGet, strings.Replace(other.session(), "mei", "nobody", 1)+"/results", nil).want(http.StatusNotFound, models.CodeSessionNotFound)
	w.admin(http.MethodDelete, turn.session(), nil).ok()
	w.admin(http.MethodGet, turn.session()+"/results/"+id, nil).want(http.StatusNotFound, models.CodeNotFound)
}
