package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/httpapi"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store/storetest"
)

// pages walks a list to its end and returns one field of every item.
func (w *world) pages(path, field string) []string {
	w.t.Helper()
	var all []string
	for cursor := ""; ; {
		page := w.admin(http.MethodGet, path+"&cursor="+url.QueryEscape(cursor), nil).ok()
		for i := range page.items() {
			all = append(all, fmt.Sprint(page.get("items", i, field)))
		}
		if cursor = page.str("nextCursor"); cursor == "" {
			return all
		}
		if len(all) > 1000 {
			w.t.Fatalf("%s never ends", path)
		}
	}
}

func TestPages(t *testing.T) {
	w := newWorld(t, options{})
	const n = 13
	for i := range n {
		w.chat(obj{"userId": fmt.Sprintf("user%d", i), "text": "hi"}).ok()
	}
	for path, field := range map[string]string{"/sessions?limit=4": "key", "/inbound?limit=4": "id", "/deliveries?limit=4": "id", "/inbound?state=done&limit=5": "id"} {
		got := w.pages(path, field)
		if unique := slices.Compact(slices.Sorted(slices.Values(got))); len(got) != n || len(unique) != n {
			t.Errorf("%s: %d items, %d different; want %d", path, len(got), len(unique), n)
		}
	}
	for i := range 6 {
		w.chat(obj{"userId": "user0", "text": fmt.Sprint(i)}).ok()
	}
	path := session("agent:assistant:channel:any:scope:per_peer:api/default/user0") + "/messages?limit=4"
	got := w.pages(path, "seq")
	if unique := slices.Compact(slices.Sorted(slices.Values(got))); len(got) != 14 || len(unique) != 14 {
		t.Errorf("messages: %v", got)
	}
	page := w.admin(http.MethodGet, path, nil).ok()
	if page.get("items", 0, "seq").(float64) >= page.get("items", 3, "seq").(float64) || page.str("items", 3, "content") != "5" {
		t.Errorf("the first page is not the newest, oldest first: %s", page.body)
	}
}

func TestSessionFilters(t *testing.T) {
	w := newWorld(t, options{})
	w.chat(obj{"userId": "lin", "text": "hi"}).ok()
	w.work(obj{"userId": "max", "text": "hi", "scope": "per_account_channel_peer"}).ok()
	w.admin(http.MethodPatch, session("agent:assistant:channel:any:scope:per_peer:api/default/lin"), obj{"title": "Release talk"}).ok()
	for query, want := range map[string]string{
		"agentId=model": "max", "agentId=assistant": "lin", "scope=per_account_channel_peer": "max", "channel=api": "lin max",
		"state=active": "lin max", "state=archived": "", "q=Release": "lin", "q=work": "max", "q=nothing": "", "channel=feishu": "",
	} {
		var got []string
		for _, key := range w.pages("/sessions?"+query, "key") {
			got = append(got, key[strings.LastIndex(key, "/")+1:])
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
}

func TestSessionKeysInPaths(t *testing.T) {
	w := newWorld(t, options{})
	for _, id := range []string{"lin", "a/b", "a+b=", "a%2Fb", "a b", "用户", "#?&"} {
		key := w.chat(obj{"userId": id, "text": "hi"}).ok().str("sessionKey")
		for form, path := range map[string]string{
			"path":           session(key),
			"path, all":      "/sessions/" + strings.ReplaceAll(url.QueryEscape(key), "+", "%20"),
			"query":          "/sessions/-?key=" + url.QueryEscape(key),
			"query, as path": "/sessions/-?key=" + url.PathEscape(strings.ReplaceAll(key, "&", "%26")),
		} {
			if form == "query, as path" && strings.ContainsAny(id, "&") {
				continue // PathEscape leaves & as it is: nobody can tell it from the next parameter
			}
			if got := w.admin(http.MethodGet, path, nil).ok().str("key"); got != key {
				t.Errorf("%s by %s: %s, want %s", id, form, got, key)
			}
		}
		w.admin(http.MethodGet, "/sessions/-/messages?limit=1&key="+url.QueryEscape(key), nil).ok()
	}
}

func TestSessionLife(t *testing.T) {
	w := newWorld(t, options{})
	a := w.work(obj{"userId": "lin", "text": "remember the milk"}).ok()
	path := a.session()

	got := w.admin(http.MethodPatch, path, obj{"title": "Milk", "systemPrompt": "Be brief.", "pinned": true, "model": "test-model"}).ok()
	for field, want := range map[string]any{"title": "Milk", "pinned": true, "model": "test-model", "systemPrompt": "Be brief.", "messageCount": 2.0, "account": "work"} {
		if got.get(field) != want {
			t.Errorf("%s is %v, want %v", field, got.get(field), want)
		}
	}
	w.admin(http.MethodPatch, path, obj{}).ok()

	view := w.admin(http.MethodGet, path+"/context", nil).ok()
	if view.str("messages", 0, "content") != "Be brief." || view.str("messages", 1, "content") != "remember the milk" || view.get("limit") != 100_000.0 {
		t.Errorf("context %s", view.body)
	}
	w.admin(http.MethodGet, path+"/context?slot=nowhere", nil).want(http.StatusNotFound, models.CodeSlotNotFound)
	w.admin(http.MethodGet, path+"/messages?slot=%00", nil).want(http.StatusNotFound, models.CodeSlotNotFound)

	count := func() int { return len(w.admin(http.MethodGet, path+"/messages", nil).ok().items()) }
	for _, step := range []struct {
		do      string
		changed float64
		left    int
	}{
		{"/reset?dryRun=true", 2, 2}, {"/reset", 2, 0}, {"/restore?reset=latest&dryRun=true", 1, 0}, {"/restore?reset=latest", 1, 2},
		{"/cancel", 0, 2}, {"/restore", 0, 2},
	} {
		a := w.admin(http.MethodPost, path+step.do, nil).ok()
		if a.get("changed") != step.changed || a.get("dryRun") != strings.Contains(step.do, "dryRun") || count() != step.left {
			t.Errorf("%s: %s, %d messages left; want %v changed, %d left", step.do, a.body, count(), step.changed, step.left)
		}
	}
	if got := w.admin(http.MethodPost, path+"/restore?reset=latest", nil); got.status == http.StatusOK && count() == 2 {
		t.Errorf("a second restore: %s", got.body)
	}

	if got := w.admin(http.MethodDelete, path+"?dryRun=true", nil).ok(); got.get("dryRun") != true {
		t.Errorf("dry run: %s", got.body)
	}
	w.admin(http.MethodGet, path, nil).ok()
	w.admin(http.MethodDelete, path, nil).ok()
	for _, p := range []string{path, path + "/messages", path + "/context"} {
		w.admin(http.MethodGet, p, nil).want(http.StatusNotFound, models.CodeSessionNotFound)
	}
	w.do(request{method: http.MethodGet, path: "/v1/inbound/" + a.str("inboundId"), token: "work-token"}).want(http.StatusNotFound, models.CodeNotFound)
	if all := w.admin(http.MethodGet, "/inbound", nil).ok(); strings.Contains(string(all.body), "milk") {
		t.Errorf("a deleted text is listed: %s", all.body)
	}
}

func TestContextShowsBackground(t *testing.T) {
	w := newWorld(t, options{})
	path := w.work(obj{"chatId": "g", "userId": "lin", "text": "hello"}).ok().session()
	w.work(obj{"chatId": "g", "userId": "max", "text": "the code is 4711", "mentioned": false}).ok()
	if view := w.admin(http.MethodGet, path+"/context", nil).ok(); !strings.Contains(string(view.body), "4711") {
		t.Errorf("the next turn would send the background, the context does not show it: %s", view.body)
	}
}

func TestRetryInbound(t *testing.T) {
	w := newWorld(t, options{})
	w.model.Script(agenttest.Fail(http.StatusBadRequest, "bad", "no"))
	w.work(obj{"userId": "lin", "text": "hello"}).want(http.StatusBadGateway, models.CodeAgentFailed)
	failed := w.admin(http.MethodGet, "/inbound?state=failed", nil).ok()
	id := failed.str("items", 0, "id")
	if failed.str("items", 0, "error") == "" || failed.get("items", 0, "finishedAt") == nil {
		t.Errorf("a failed message: %s", failed.body)
	}
	w.admin(http.MethodPost, "/inbound/"+id+"/retry", nil).ok()
	eventually(t, "it is answered", func() bool { return len(w.admin(http.MethodGet, "/inbound?state=done", nil).ok().items()) == 1 })
	w.admin(http.MethodPost, "/inbound/"+id+"/retry", nil).want(http.StatusConflict, models.CodeConflict)
}

func TestPush(t *testing.T) {
	w := newWorld(t, options{})
	body := obj{"channel": "fake", "account": "main", "userId": "lin", "text": "one|two", "idempotencyKey": "k1"}
	first := w.admin(http.MethodPost, "/deliveries", body).want(http.StatusAccepted, "")
	again := w.admin(http.MethodPost, "/deliveries", body).want(http.StatusAccepted, "")
	if first.str("deliveryIds", 0) != again.str("deliveryIds", 0) || len(first.get("deliveryIds").([]any)) != 2 {
		t.Errorf("pushed %s, again %s", first.body, again.body)
	}
	eventually(t, "both pieces are sent", func() bool { return len(w.channel.texts()) == 2 })
	if got := w.channel.texts(); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("sent %q", got)
	}
	key := session("agent:assistant:channel:any:scope:per_peer:fake/main/lin")
	eventually(t, "the chat remembers", func() bool {
		a := w.admin(http.MethodGet, key+"/messages", nil)
		return a.status == http.StatusOK && len(a.items()) == 2
	})
	w.admin(http.MethodPost, "/deliveries", obj{"channel": "fake", "account": "main", "chatId": "g", "text": "aside", "remember": false}).want(http.StatusAccepted, "")
	eventually(t, "it is sent", func() bool { return len(w.channel.texts()) == 3 })
	w.admin(http.MethodGet, session("agent:assistant:channel:any:scope:per_peer:fake/main/group/g"), nil).want(http.StatusNotFound, models.CodeSessionNotFound)
}

// A key stands for one target and text: anything else under it is refused, and nobody
// takes it for sent.
func TestPushUnderATakenKey(t *testing.T) {
	w := newWorld(t, options{})
	push := func(change obj) *answer {
		body := obj{"channel": "fake", "account": "main", "userId": "px", "text": "same|end", "idempotencyKey": "ik9", "remember": false}
		maps.Copy(body, change)
		return w.admin(http.MethodPost, "/deliveries", body)
	}
	first := push(nil).want(http.StatusAccepted, "").str("deliveryIds", 0)
	for name, change := range map[string]obj{
		"user": {"userId": "py"}, "text": {"text": "same|other end"}, "group": {"userId": "", "chatId": "px"}, "channel": {"channel": "api", "account": "default"},
	} {
		if a := push(change); a.status != http.StatusConflict || a.str("error", "code") != string(models.CodeConflict) {
			t.Errorf("another %s: %d %s", name, a.status, a.body)
		}
	}
	if again := push(nil).want(http.StatusAccepted, "").str("deliveryIds", 0); again != first {
		t.Errorf("a repeat is %s, not %s", again, first)
	}
	push(obj{"userId": "py", "idempotencyKey": "ik10"}).want(http.StatusAccepted, "")
	eventually(t, "both are sent", func() bool { return len(w.channel.texts()) == 4 })
}

func TestPushTooLarge(t *testing.T) {
	w := newWorld(t, options{})
	body := obj{"channel": "fake", "account": "main", "userId": "lin", "text": strings.Repeat("x", 10_001)}
	w.admin(http.MethodPost, "/deliveries", body).want(http.StatusRequestEntityTooLarge, models.CodeTooLarge)
	body["text"] = strings.Repeat("x", 10_000)
	w.admin(http.MethodPost, "/deliveries", body).want(http.StatusAccepted, "")
}

// A page ends where it holds enough, however few messages that are, and the next one
// goes on from there.
func TestPageOfLargeMessages(t *testing.T) {
	w := newWorld(t, options{stopped: true})
	k := "agent:assistant:channel:any:scope:per_peer:api/default/lin"
	now := clock.Real().Now()
	if err := w.store.CreateSession(t.Context(), storetest.NewSession(k, now)); err != nil {
		t.Fatal(err)
	}
	picture := "data:image/png;base64," + strings.Repeat("A", 3<<20)
	for range 12 {
		m := &models.SessionMessage{ID: models.NewMessageID(now), Role: models.RoleUser, Content: "see", Images: []string{picture}, CreatedAt: now}
		if err := w.store.AppendMessages(t.Context(), k, []*models.SessionMessage{m}); err != nil {
			t.Fatal(err)
		}
	}
	var seqs []float64
	pages := 0
	for cursor := ""; ; pages++ {
		page := w.admin(http.MethodGet, session(k)+"/messages?limit=500&before="+cursor, nil).ok()
		if n := len(page.items()); n > 5 || len(page.body) > 17<<20 {
			t.Errorf("a page of %d messages, %d bytes", n, len(page.body))
		}
		for i := range slices.Backward(page.items()) {
			seqs = append(seqs, page.get("items", i, "seq").(float64))
		}
		if cursor = page.str("nextCursor"); cursor == "" {
			break
		}
	}
	if len(seqs) != 12 || pages != 2 || !slices.IsSortedFunc(seqs, func(a, b float64) int { return int(b - a) }) {
		t.Errorf("%d pages follow, of messages %v", pages, seqs)
	}
}

func TestRetryDelivery(t *testing.T) {
	w := newWorld(t, options{})
	w.channel.setRefuse(true)
	id := w.admin(http.MethodPost, "/deliveries", obj{"channel": "fake", "account": "main", "chatId": "g", "text": "hello"}).want(http.StatusAccepted, "").str("deliveryIds", 0)
	eventually(t, "it is refused", func() bool { return len(w.admin(http.MethodGet, "/deliveries?state=failed", nil).ok().items()) == 1 })
	if failed := w.admin(http.MethodGet, "/deliveries?state=failed", nil).ok(); failed.str("items", 0, "error") == "" || failed.str("items", 0, "target", "chatId") != "g" {
		t.Errorf("a failed delivery: %s", failed.body)
	}
	w.channel.setRefuse(false)
	retried := w.admin(http.MethodPost, "/deliveries/"+id+"/retry", nil).ok()
	eventually(t, "it is delivered", func() bool { return len(w.admin(http.MethodGet, "/deliveries?state=delivered", nil).ok().items()) == 1 })
	w.admin(http.MethodPost, "/deliveries/"+retried.str("id")+"/retry", nil).want(http.StatusConflict, models.CodeConflict)
}

func TestOperations(t *testing.T) {
	w := newWorld(t, options{})
	w.chat(obj{"userId": "canary-user", "chatId": "canary-chat", "text": "canary-text"}).ok()
	w.admin(http.MethodPost, "/deliveries", obj{"channel": "fake", "account": "main", "chatId": "canary-chat", "text": "hi"}).want(http.StatusAccepted, "")
	eventually(t, "it is sent", func() bool { return len(w.channel.texts()) == 1 })
	get := func(path string) *answer { t.Helper(); return w.do(request{method: http.MethodGet, path: path}).ok() }

	if a := get("/healthz"); a.str("status") != "ok" || a.str("version") != "test" {
		t.Errorf("health %s", a.body)
	}
	if a := get("/readyz"); a.get("ready") != true || a.get("durable") != false || a.str("channels", 0, "channel") != "api" || len(a.get("channels").([]any)) != 4 {
		t.Errorf("readiness %s", a.body)
	}
	if a := get("/openapi.yaml"); !strings.HasPrefix(string(a.body), "openapi: 3.1") {
		t.Errorf("description %.40s", a.body)
	}
	if a := w.admin(http.MethodGet, "/channels", nil).ok(); a.str("items", 3, "channel") != "fake" || a.get("items", 3, "connected") != true {
		t.Errorf("channels %s", a.body)
	}
	if a := w.admin(http.MethodGet, "/agents", nil).ok(); a.str("items", 1, "model") != "test-model" {
		t.Errorf("agents %s", a.body)
	}
	if a := w.admin(http.MethodGet, "/stats", nil).ok(); a.get("sessions", "active") != 2.0 {
		t.Errorf("stats %s", a.body)
	}
	if a := w.admin(http.MethodGet, "/config", nil).ok(); a.str("server", "adminToken") != "***" {
		t.Errorf("config %s", a.body)
	}
	metrics := string(get("/metrics").body)
	for _, line := range []string{
		`chatkeep_accepted_messages_total{channel="api",kind="message"} 1`,
		`chatkeep_turn_duration_seconds_count{outcome="done"} 1`,
		`chatkeep_turns_running 0`,
		`chatkeep_delivery_attempts_total{channel="fake",result="delivered"} 1`,
		`chatkeep_http_request_duration_seconds_count{code="200",method="POST",route="/v1/chat"} 1`,
		`chatkeep_channel_connected{account="main",channel="fake"} 1`,
		`chatkeep_sessions{state="active"} 2`,
		`chatkeep_store_up 1`,
	} {
		if !strings.Contains(metrics, "\n"+line+"\n") {
			t.Errorf("no %s in the metrics", line)
		}
	}
	if !strings.Contains(metrics, "go_goroutines") || !strings.Contains(metrics, "process_resident_memory_bytes") {
		t.Error("runtime or process metrics are missing")
	}
	if strings.Contains(metrics, "canary") {
		t.Error("the metrics hold ids or texts")
	}
}

func TestNotReady(t *testing.T) {
	w := newWorld(t, options{stopped: true})
	a := w.do(request{method: http.MethodGet, path: "/readyz"}).want(http.StatusServiceUnavailable, "")
	if a.get("ready") != false || a.get("workers") != false || a.get("database") != true {
		t.Errorf("readiness %s", a.body)
	}
	w.do(request{method: http.MethodGet, path: "/healthz"}).ok()
}

func TestListenersOfTheirOwn(t *testing.T) {
	routes := func(h http.Handler) string { return fmt.Sprint(routesOf(t, h)) }
	api := httpapi.New(httpapi.Config{}, httpapi.Deps{}, nil, nil)
	if public := routes(api.Public()); strings.Contains(public, "/admin") || strings.Contains(public, "/metrics") || !strings.Contains(public, "/readyz") {
		t.Errorf("the public listener has %s", public)
	}
	if admin := routes(api.Admin()); strings.Contains(admin, "/v1/chat") || strings.Contains(admin, "/webhooks") || !strings.Contains(admin, "/readyz") {
		t.Errorf("the admin listener has %s", admin)
	}
}

func TestWebhooks(t *testing.T) {
	w := newWorld(t, options{})
	hook := func(password, body string) *answer {
		return w.do(request{method: http.MethodPost, path: "/webhooks/fake/main", body: body, header: map[string]string{"X-Password": password}, host: "gateway.example"})
	}
	hook("wrong", "hi").want(http.StatusUnauthorized, models.CodeUnauthorized)
	hook("open", strings.Repeat("x", 100<<10)).want(http.StatusRequestEntityTooLarge, models.CodeTooLarge)
	hook("open", "hello").ok()
	hook("open", "hello").ok() // a redelivery
	eventually(t, "one answer is sent", func() bool { return slices.Equal(w.channel.texts(), []string{"hello"}) })
	if n := len(w.admin(http.MethodGet, "/inbound", nil).ok().items()); n != 1 {
		t.Errorf("%d messages are stored, want 1", n)
	}
	w.channel.breakDown()
	hook("open", "later").want(http.StatusServiceUnavailable, models.CodeUnavailable)
	w.do(request{method: http.MethodPost, path: "/webhooks/fake/other", body: "{}"}).want(http.StatusNotFound, models.CodeNotFound)
}

// TestSecretsStayInside looks for every secret in everything that was said.
func TestSecretsStayInside(t *testing.T) {
	w := newWorld(t, options{settings: func(s *gateway.Settings) {
		a := s.Agents["model"]
		a.SystemPrompt = "canary-prompt"
		s.Agents["model"] = a
	}})
	w.model.Script(agenttest.Fail(http.StatusUnauthorized, "bad", "canary-provider"))
	var said strings.Builder
	for _, a := range []*answer{
		w.work(obj{"userId": "lin", "text": "canary-message"}),
		w.do(request{method: http.MethodGet, path: "/v1/models", token: "wrong-canary"}),
		w.admin(http.MethodGet, "/config", nil), w.admin(http.MethodGet, "/agents", nil), w.admin(http.MethodGet, "/channels", nil),
		w.do(request{method: http.MethodGet, path: "/metrics"}), w.do(request{method: http.MethodGet, path: "/readyz"}),
	} {
		raw, _ := json.Marshal(a.header)
		said.Write(raw)
		said.Write(a.body)
	}
	for where, text := range map[string]string{"an answer": said.String(), "the log": w.log.String()} {
		for _, secret := range []string{adminToken, teamToken, "work-token", "wrong-canary", "canary-prompt", "canary-message"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %q", where, secret)
			}
		}
	}
	if strings.Contains(said.String(), "canary-provider") {
		t.Error("an answer holds the provider's text")
	}
}
