package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/gateway/limit"
	"github.com/chatkeep/chatkeep/internal/wordlist"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func pairing(c *gateway.ChatSettings) { c.Access.Direct = access.Pairing }

func TestAccessIsGrantedByCode(t *testing.T) {
	w := newWorld(t, options{chat: pairing})
	ask := func(want int) *answer {
		t.Helper()
		return w.chat(obj{"userId": "lin", "text": "let me in"}).want(want, "")
	}
	if code := ask(http.StatusForbidden).str("error", "code"); code != string(models.CodeForbidden) {
		t.Errorf("code %s", code)
	}
	// Whoever fetches answers gets no code: the operator sees who asked.
	if _, err := w.gateway.Accept(t.Context(), &gateway.Incoming{Channel: "fake", Account: "main", Message: &adapters.Message{
		ID: "m-1", Chat: adapters.Chat{ID: "oc_1", Type: adapters.Direct}, Sender: adapters.Sender{ID: "ou_1", Name: "Wu"}, Mentioned: true, Text: "hello",
	}}); err != nil {
		t.Fatal(err)
	}
	var code string
	eventually(t, "the request is there", func() bool {
		items := w.admin(http.MethodGet, "/access/requests", nil).ok().items()
		if len(items) == 1 {
			code = items[0].(obj)["code"].(string)
		}
		return code != ""
	})
	list := w.admin(http.MethodGet, "/access/requests?channel=fake&account=main", nil).ok()
	if list.str("items", 0, "subjectId") != "ou_1" || list.str("items", 0, "state") != "pending" {
		t.Errorf("%s", list.body)
	}
	w.admin(http.MethodGet, "/access/requests?channel=fake", nil).want(http.StatusBadRequest, models.CodeInvalidRequest)
	w.admin(http.MethodPost, "/access/requests/P-222222/approve", nil).want(http.StatusNotFound, models.CodeNotFound)
	w.do(request{method: http.MethodPost, path: "/admin/v1/access/requests/" + code + "/approve", token: teamToken}).want(http.StatusUnauthorized, models.CodeUnauthorized)
	granted := w.admin(http.MethodPost, "/access/requests/"+strings.ToLower(code)+"/approve", nil).ok()
	if granted.str("state") != "approved" || granted.str("code") != "" || granted.str("decidedBy") != "admin" {
		t.Errorf("%s", granted.body)
	}
	w.admin(http.MethodPost, "/access/requests/"+code+"/deny", nil).want(http.StatusNotFound, models.CodeNotFound)
	w.admin(http.MethodGet, "/access/grants?state=pending", nil).want(http.StatusBadRequest, models.CodeInvalidRequest)
	if n := len(w.admin(http.MethodGet, "/access/grants?state=approved", nil).ok().items()); n != 1 {
		t.Errorf("%d grants", n)
	}
	w.admin(http.MethodDelete, "/access/grants/"+granted.str("id"), nil).ok()
	w.admin(http.MethodDelete, "/access/grants/"+granted.str("id"), nil).want(http.StatusNotFound, models.CodeNotFound)
	if n := len(w.admin(http.MethodGet, "/access/grants", nil).ok().items()); n != 0 {
		t.Errorf("%d grants are left", n)
	}
}

func TestRateOfACaller(t *testing.T) {
	w := newWorld(t, options{settings: func(s *gateway.Settings) {
		s.Limits = limit.Limits{MessagesPerMinute: 2, Exempt: []string{"api/default/boss"}}
	}})
	for range 2 {
		w.chat(obj{"userId": "lin", "text": "hello"}).content("hello")
	}
	refused := w.chat(obj{"userId": "lin", "text": "again", "messageId": "m-1"}).want(http.StatusTooManyRequests, models.CodeRateLimited)
	if after := refused.header.Get("Retry-After"); after < "1" || len(after) > 2 {
		t.Errorf("Retry-After %q", after)
	}
	w.chat(obj{"userId": "lin", "text": "again", "messageId": "m-1"}).want(http.StatusTooManyRequests, models.CodeRateLimited)
	w.chat(obj{"userId": "lin", "chatId": "elsewhere", "text": "again"}).want(http.StatusTooManyRequests, models.CodeRateLimited)
	w.chat(obj{"userId": "wu", "text": "hello"}).content("hello")
	for range 4 {
		w.chat(obj{"userId": "boss", "text": "hello"}).content("hello")
	}
	id := w.chat(obj{"userId": "lin", "text": "later", "wait": false}).want(http.StatusAccepted, "").str("inboundId")
	state := w.do(request{method: http.MethodGet, path: "/v1/inbound/" + id}).ok()
	if state.str("state") != "failed" || !strings.Contains(state.str("error"), "more than 2 messages") {
		t.Errorf("%s", state.body)
	}
	stream := w.do(request{method: http.MethodPost, path: "/v1/chat", body: obj{"userId": "lin", "text": "again", "stream": true}}).ok()
	if !strings.Contains(string(stream.body), `"code":"rate_limited"`) {
		t.Errorf("%s", stream.body)
	}
	if !strings.Contains(string(w.do(request{method: http.MethodGet, path: "/metrics", token: adminToken}).body), `chatkeep_refused_total{reason="rate"} 5`) {
		t.Error("refusals are not counted")
	}
}

// The echo agent's provider counts nothing: what a turn must have cost is counted.
func TestBudgetOfACaller(t *testing.T) {
	const budget = 300
	w := newWorld(t, options{settings: func(s *gateway.Settings) {
		s.Limits = limit.Limits{TokensPerDay: map[store.BudgetKind]int64{store.BudgetUser: budget}}
	}})
	text := strings.Repeat("words and ", 60)
	first := w.chat(obj{"userId": "lin", "text": text}).ok()
	warned := first
	for range 5 {
		if warned.get("reply", "notices") != nil {
			break
		}
		warned = w.chat(obj{"userId": "lin", "text": "more"}).ok()
	}
	if notice := warned.str("reply", "notices", 0); !strings.Contains(notice, "% of today's token budget is used: yours") {
		t.Errorf("notice %q", notice)
	}
	var refused *answer
	for range 20 {
		if refused = w.chat(obj{"userId": "lin", "text": "more", "messageId": "m-" + text[:3]}); refused.status != http.StatusOK {
			break
		}
		w.chat(obj{"userId": "lin", "text": text})
	}
	refused = w.chat(obj{"userId": "lin", "text": "the last", "messageId": "again"}).want(http.StatusTooManyRequests, models.CodeBudgetExceeded)
	if after := refused.header.Get("Retry-After"); after == "1" || after == "" {
		t.Errorf("Retry-After %q: the budget is there again tomorrow", after)
	}
	w.chat(obj{"userId": "wu", "text": "hello"}).content("hello")

	stands := w.admin(http.MethodGet, "/budgets?kind=user&id=api/default/lin", nil).ok()
	if stands.get("limit") != float64(budget) || stands.get("used").(float64) < budget || stands.get("lifted") != false {
		t.Errorf("%s", stands.body)
	}
	w.admin(http.MethodGet, "/budgets?kind=agent&id=assistant", nil).want(http.StatusBadRequest, models.CodeInvalidRequest)
	w.admin(http.MethodGet, "/budgets?kind=colour&id=assistant", nil).want(http.StatusBadRequest, models.CodeInvalidRequest)
	for _, body := range []obj{{"kind": "user", "id": "api/default/lin"}, {"kind": "user", "id": "x", "extra": -1}, {"kind": "user", "id": "x", "extra": 1, "lift": true}, {"kind": "user", "id": "", "lift": true}} {
		w.admin(http.MethodPut, "/budgets", body).want(http.StatusBadRequest, models.CodeInvalidRequest)
	}
	if lifted := w.admin(http.MethodPut, "/budgets", obj{"kind": "user", "id": "api/default/lin", "lift": true}).ok(); lifted.get("lifted") != true {
		t.Errorf("%s", lifted.body)
	}
	w.chat(obj{"userId": "lin", "text": "the last", "messageId": "again"}).content("the last")
	if taken := w.admin(http.MethodPut, "/budgets", obj{"kind": "user", "id": "api/default/lin", "extra": 0}).ok(); taken.get("lifted") != false {
		t.Errorf("%s", taken.body)
	}
	w.chat(obj{"userId": "lin", "text": "one more"}).want(http.StatusTooManyRequests, models.CodeBudgetExceeded)
	if history := w.admin(http.MethodGet, first.session()+"/messages?limit=500", nil).ok(); strings.Contains(string(history.body), "one more") {
		t.Error("a refused message is part of the conversation")
	}
}

func TestUsage(t *testing.T) {
	w := newWorld(t, options{settings: func(s *gateway.Settings) {
		agent := s.Agents["model"]
		agent.Model = "test-model"
		s.Agents["model"] = agent
	}})
	one := w.work(obj{"userId": "lin", "text": "hello"}).ok()
	w.work(obj{"userId": "lin", "text": "hello again"}).ok()
	w.work(obj{"userId": "wu", "text": "hello"}).ok()
	w.do(request{method: http.MethodPost, path: "/v1/chat/completions", token: "work-token",
		body: obj{"model": "model", "messages": []obj{{"role": "user", "content": "stateless"}}}}).ok()
	usage := func(query string) *answer { t.Helper(); return w.admin(http.MethodGet, "/usage?"+query, nil).ok() }
	days := usage("by=day")
	if days.get("items", 0, "turns") != float64(4) || days.str("items", 0, "day") != w.gateway.Today().Format("2006-01-02") {
		t.Errorf("%s", days.body)
	}
	spent := one.get("reply", "usage", "promptTokens").(float64)
	if spent <= 0 || days.get("items", 0, "promptTokens").(float64) < spent {
		t.Errorf("prompt tokens of one turn %v, of the day %s", spent, days.body)
	}
	if now := usage("from=today&to=today"); now.get("items", 0, "turns") != float64(4) || len(now.items()) != 1 {
		t.Errorf("today: %s", now.body)
	}
	users := usage("by=user")
	if users.str("items", 0, "user") != "api/work/lin" || users.get("items", 0, "turns") != float64(2) || len(users.items()) != 2 {
		t.Errorf("%s", users.body)
	}
	if sessions := usage("by=session"); sessions.str("items", 0, "sessionKey") != one.str("sessionKey") {
		t.Errorf("%s", sessions.body)
	}
	if agents := usage("by=agent&model=test-model"); agents.str("items", 0, "agentId") != "model" || agents.get("items", 0, "turns") != float64(4) {
		t.Errorf("%s", agents.body)
	}
	if byModel := usage("by=model"); byModel.str("items", 0, "model") != "test-model" {
		t.Errorf("by model")
	}
	if other := usage("by=agent&model=none"); len(other.items()) != 0 {
		t.Errorf("%s", other.body)
	}
	if past := usage("from=2020-01-01&to=2020-01-31"); len(past.items()) != 0 {
		t.Errorf("%s", past.body)
	}
	for _, query := range []string{"by=colour", "from=yesterday", "from=2026-11-30&to=2026-11-01", "from=2020-01-01&to=2026-01-01", "limit=0"} {
		w.admin(http.MethodGet, "/usage?"+query, nil).want(http.StatusBadRequest, models.CodeInvalidRequest)
	}
	w.admin(http.MethodDelete, one.session(), nil)
	if sessions := usage("by=session"); strings.Contains(string(sessions.body), one.str("sessionKey")) {
		t.Errorf("a deleted session is named: %s", sessions.body)
	}
	if metrics := w.do(request{method: http.MethodGet, path: "/metrics", token: adminToken}); !strings.Contains(string(metrics.body), `chatkeep_tokens_total{agent="model",kind="prompt"}`) {
		t.Error("tokens are not counted")
	}
}

func TestWordsOfACaller(t *testing.T) {
	w := newWorld(t, options{settings: func(s *gateway.Settings) {
		s.Words.In = wordlist.New(wordlist.Rule{Words: []string{"secret"}}, wordlist.Rule{Words: []string{"bomb"}, Refuse: true})
		s.Words.Out = wordlist.New(wordlist.Rule{Words: []string{"swear"}}, wordlist.Rule{Words: []string{"poison"}, Refuse: true})
	}})
	first := w.chat(obj{"userId": "lin", "text": "a SECRET and a swear"}).content("a ＊＊＊＊＊＊ and a ＊＊＊＊＊")
	refused := w.chat(obj{"userId": "lin", "text": "a Ｂｏｍｂ"}).want(http.StatusForbidden, models.CodeForbidden)
	w.chat(obj{"userId": "lin", "text": "some poison"}).want(http.StatusForbidden, models.CodeForbidden)
	stream := w.do(request{method: http.MethodPost, path: "/v1/chat", body: obj{"userId": "lin", "text": "I swear", "stream": true}}).ok()
	if strings.Contains(string(stream.body), "swear") || !strings.Contains(string(stream.body), "I ＊＊＊＊＊") {
		t.Errorf("%s", stream.body)
	}
	history := string(w.admin(http.MethodGet, first.session()+"/messages", nil).ok().body)
	for _, word := range []string{"SECRET", "bomb", "Ｂｏｍｂ", "poison"} {
		if strings.Contains(history, word) || strings.Contains(string(refused.body), word) {
			t.Errorf("%s is shown", word)
		}
	}
	stateless := func(content string) *answer {
		t.Helper()
		return w.do(request{method: http.MethodPost, path: "/v1/chat/completions", token: "work-token",
			body: obj{"model": "assistant", "messages": []obj{{"role": "user", "content": content}}}})
	}
	if got := stateless("a secret swear").ok().str("choices", 0, "message", "content"); got != "a ＊＊＊＊＊＊ ＊＊＊＊＊" {
		t.Errorf("%q", got)
	}
	stateless("a bomb").want(http.StatusForbidden, models.CodeForbidden)
	stateless("some poison").want(http.StatusForbidden, models.CodeForbidden)
}
