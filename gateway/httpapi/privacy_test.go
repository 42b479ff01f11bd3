package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/models"
)

// Providers quote what they refuse. None of it gets into the log, into what is stored of
// the failure, or to clients; a person gets one friendly text with a code.
func TestFailuresQuoteNobody(t *testing.T) {
	const said = "my salary is 5000"
	w := newWorld(t, options{})
	w.model.Otherwise(func(r *agenttest.ChatRequest) agenttest.Reply {
		return agenttest.Fail(http.StatusBadRequest, "content_policy", "refused: "+r.Last("user").Text())
	})
	w.work(obj{"userId": "lin", "text": said}).want(http.StatusBadGateway, models.CodeAgentFailed)
	failed := w.admin(http.MethodGet, "/inbound?state=failed", nil).ok()
	if got := failed.str("items", 0, "error"); got != "agent: permanent: provider refused the request: status 400, type api_error, code content_policy" {
		t.Errorf("what is stored of the failure is %q", got)
	}
	body := obj{"model": "model", "messages": []any{obj{"role": "user", "content": said}}}
	w.do(request{method: http.MethodPost, path: "/v1/chat/completions", body: body}).want(http.StatusBadGateway, models.CodeAgentFailed)
	if log := w.log.String(); strings.Contains(log, "salary") || !strings.Contains(log, "content_policy") {
		t.Errorf("the log says:\n%s", log)
	}
}
