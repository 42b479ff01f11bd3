package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
)

func TestCompactSession(t *testing.T) {
	w := newWorld(t, options{settings: func(s *gateway.Settings) { s.Compaction = gateway.Compaction{KeepRecent: 4} }})
	w.model.Otherwise(func(r *agenttest.ChatRequest) agenttest.Reply {
		if strings.HasPrefix(r.Messages[0].Text(), "You condense") {
			return agenttest.Say("## Decisions\n- blue")
		}
		return agenttest.Say("noted")
	})
	path := w.work(obj{"userId": "lin", "text": "turn 0: order A-1000"}).ok().session()
	if got := w.admin(http.MethodPost, path+"/compact", nil).ok(); got.get("changed") != 0.0 || got.str("reason") != "too_short" {
		t.Errorf("too short: %s", got.body)
	}
	for i := range 9 {
		w.work(obj{"userId": "lin", "text": fmt.Sprintf("turn %d: order A-100%d %s", i+1, i+1, strings.Repeat("and more ", 20))}).ok()
	}
	asked := len(w.model.Requests())
	if got := w.admin(http.MethodPost, path+"/compact?dryRun=true", nil).ok(); got.get("changed") != 16.0 || got.get("skipped") != 4.0 || got.get("dryRun") != true {
		t.Errorf("dry run: %s", got.body)
	}
	if n := len(w.model.Requests()); n != asked {
		t.Error("a dry run asked the model")
	}
	w.admin(http.MethodPost, path+"/compact?slot=nowhere", nil).want(http.StatusNotFound, models.CodeSlotNotFound)
	w.admin(http.MethodPost, path+"/compact?slot=default", obj{"slot": "other"}).want(http.StatusBadRequest, models.CodeInvalidRequest)
	w.admin(http.MethodPost, path+"/slots", obj{"id": "side"}).want(http.StatusCreated, "")
	if got := w.admin(http.MethodPost, path+"/compact?slot=side", nil).ok(); got.str("slot") != "side" || got.get("changed") != 0.0 {
		t.Errorf("the slot that the query names: %s", got.body)
	}
	got := w.admin(http.MethodPost, path+"/compact", obj{"slot": "default", "instructions": "heed the orders"}).ok()
	if got.get("changed") != 16.0 || got.get("skipped") != 4.0 || got.str("slot") != "default" || got.get("dryRun") != false ||
		got.get("tokensAfter").(float64) >= got.get("tokensBefore").(float64) {
		t.Errorf("compacted: %s", got.body)
	}
	if ask := w.model.Requests()[asked].Last("user").Text(); !strings.Contains(ask, "> heed the orders") {
		t.Errorf("the request:\n%s", ask)
	}
	session := w.admin(http.MethodGet, path, nil).ok()
	if session.get("compactionCount") != 1.0 || session.str("state") != "compacted" || !strings.HasPrefix(session.str("compactedSummary"), "## Decisions\n- blue\n## Open tasks\n") ||
		!strings.Contains(session.str("compactedSummary"), "- A-1007") {
		t.Errorf("session: %s", session.body)
	}
	marked := 0
	page := w.admin(http.MethodGet, path+"/messages?limit=100", nil).ok()
	for i := range page.items() {
		if page.get("items", i, "isCompacted") == true {
			marked++
			if page.str("items", i, "content") != session.str("compactedSummary") || page.str("items", i, "role") != "system" {
				t.Errorf("the summary as a message: %v", page.items()[i])
			}
		}
	}
	if marked != 1 {
		t.Errorf("%d messages are marked as summaries", marked)
	}
	view := w.admin(http.MethodGet, path+"/context", nil).ok()
	if view.get("messages", 1, "isCompacted") != true || !strings.HasPrefix(view.str("messages", 2, "content"), "turn 8") {
		t.Errorf("context: %s", view.body)
	}
	if state := w.work(obj{"userId": "lin", "text": "again"}).ok().str("state"); state != "done" {
		t.Errorf("state %s", state)
	}
	if state := w.admin(http.MethodGet, path, nil).ok().str("state"); state != "active" {
		t.Errorf("after a message the session is %s", state)
	}

	w.admin(http.MethodPost, path+"/compact", obj{"slot": "gone"}).want(http.StatusNotFound, models.CodeSlotNotFound)
	w.admin(http.MethodPost, path+"/compact", obj{"slot": "no name"}).want(http.StatusNotFound, models.CodeSlotNotFound)
	w.admin(http.MethodPost, path+"/compact", obj{"what": 1}).want(http.StatusBadRequest, models.CodeInvalidRequest)
	w.admin(http.MethodPost, path+"/compact", obj{"instructions": strings.Repeat("x", 5000)}).want(http.StatusBadRequest, models.CodeInvalidRequest)
	w.admin(http.MethodPost, path[:len(path)-1]+"x/compact", nil).want(http.StatusNotFound, models.CodeSessionNotFound)
}

func TestCompactSessionThatFails(t *testing.T) {
	w := newWorld(t, options{settings: func(s *gateway.Settings) { s.Compaction = gateway.Compaction{KeepRecent: 2, Agent: "model"} }})
	var path string
	for i := range 6 {
		path = w.chat(obj{"userId": "lin", "text": fmt.Sprintf("turn %d %s", i, strings.Repeat("and more ", 20))}).ok().session()
	}
	before := w.holds(path, "default")
	for name, c := range map[string]struct {
		reply agenttest.Reply
		want  models.ErrorCode
	}{
		"refused":     {agenttest.Fail(http.StatusBadRequest, "bad", "no"), models.CodeAgentFailed},
		"no progress": {agenttest.Say(strings.Repeat("endless ", 2000)), models.CodeAgentFailed},
		"overflow":    {agenttest.Fail(http.StatusBadRequest, "context_length_exceeded", "too long"), models.CodeAgentFailed},
	} {
		w.model.Otherwise(func(*agenttest.ChatRequest) agenttest.Reply { return c.reply })
		w.admin(http.MethodPost, path+"/compact", nil).want(http.StatusBadGateway, c.want)
		same(t, name, w.holds(path, "default"), before...)
	}
	if session := w.admin(http.MethodGet, path, nil).ok(); session.get("compactionCount") != 0.0 {
		t.Errorf("session: %s", session.body)
	}
}
