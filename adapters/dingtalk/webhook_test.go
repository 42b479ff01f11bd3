package dingtalk

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters/dingtalk/dingtalktest"
)

func TestSign(t *testing.T) {
	const want = "IN6aj7w1pp6ibzCiNGaeAveYVyo+NXNnqoTgEC8U+/c="
	if got := Sign("1700000000000", "fake-app-secret"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

const direct = `{"msgId":"m1","msgtype":"text","conversationType":"1","conversationId":"cidA==","senderId":"s","text":{"content":"hi"}}`

func (b *bench) webhook(method, body string, age time.Duration) *httptest.ResponseRecorder {
	timestamp := strconv.FormatInt(b.clock.Now().Add(-age).UnixMilli(), 10)
	r := httptest.NewRequest(method, "/webhooks/dingtalk/main", strings.NewReader(body))
	r.Header.Set("Timestamp", timestamp)
	r.Header.Set("Sign", Sign(timestamp, b.platform.ClientSecret()))
	w := httptest.NewRecorder()
	b.adapter.ServeWebhook(w, r)
	return w
}

func TestServeWebhook(t *testing.T) {
	b := newBench(t, setup{fake: true, config: Config{Mode: ModeWebhook}})
	if got := b.webhook("POST", direct, 0).Code; got != 503 {
		t.Errorf("before Run: %d, want 503", got)
	}
	stop := b.run()
	for _, c := range []struct {
		name, method, body string
		age                time.Duration
		want               int
	}{
		{"good", "POST", direct, 0, 200},
		{"nearly an hour old", "POST", direct, time.Hour - time.Second, 200},
		{"a little ahead", "POST", direct, -4 * time.Minute, 200},
		{"stale", "POST", direct, time.Hour + time.Second, 401},
		{"far ahead", "POST", direct, -6 * time.Minute, 401},
		{"GET", "GET", "", 0, 405},
		{"no JSON", "POST", "text", 0, 400},
		{"not a message", "POST", `{"challenge":1}`, 0, 200},
		{"at the limit", "POST", strings.Repeat(" ", maxWebhookRequest-len(direct)) + direct, 0, 200},
		{"too large", "POST", strings.Repeat(" ", maxWebhookRequest) + direct, 0, 413},
	} {
		if got := b.webhook(c.method, c.body, c.age); got.Code != c.want {
			t.Errorf("%s: %d, want %d (%s)", c.name, got.Code, c.want, got.Body)
		}
	}
	if w := b.webhook("POST", direct, 0); strings.TrimSpace(w.Body.String()) != `{"msgtype":"empty"}` {
		t.Errorf("body %q", w.Body)
	}
	if m := b.sink.get("m1"); m == nil || m.Text != "hi" {
		t.Errorf("%+v", m)
	}
	stop()
	if got := b.webhook("POST", direct, 0).Code; got != 503 {
		t.Errorf("after Run: %d, want 503", got)
	}
}

func TestWebhookWhoseMessageCannotBeStored(t *testing.T) {
	b := newBench(t, setup{config: Config{Mode: ModeWebhook}})
	b.run()
	web := httptest.NewServer(http.HandlerFunc(b.adapter.ServeWebhook))
	defer web.Close()
	b.platform.SetWebhookTarget(web.URL)
	b.sink.failWith(errors.New("database is away: secret detail"))
	id := b.platform.Say("cidA==", "emp1", "hello")
	b.until("it is answered", func() bool { return len(b.platform.Acks(id)) == 1 })
	if got := b.platform.Acks(id)[0].Code; got != 503 {
		t.Errorf("status %d, want 503", got)
	}
	b.sink.failWith(nil)
	b.platform.Redeliver(id)
	b.until("it is taken", func() bool { return len(b.platform.Acks(id)) == 2 })
	if got := b.platform.Acks(id)[1].Code; got != 200 {
		t.Errorf("status %d, want 200", got)
	}
}

func TestNoWebhookInStreamMode(t *testing.T) {
	b := newBench(t, setup{fake: true})
	if got := b.webhook("POST", direct, 0).Code; got != 404 {
		t.Errorf("status %d, want 404", got)
	}
}

func TestCheck(t *testing.T) {
	b := newBench(t, withCards())
	findings, err := b.adapter.Check(t.Context())
	if err != nil || len(findings) != 5 {
		t.Fatalf("%q, %v", findings, err)
	}
	for _, f := range findings {
		if strings.Contains(f, "missing") || strings.Contains(f, "refused") {
			t.Errorf("%s", f)
		}
	}
	missing := dingtalktest.Fault{Status: 403, Body: `{"code":"Forbidden.AccessDenied.AccessTokenPermissionDenied","message":"no",` +
		`"accessdenieddetail":{"requiredScopes":["Card.Streaming.Write"]}}`}
	b.platform.Fail(dingtalktest.OpCardStream, missing)
	b.platform.Fail(dingtalktest.OpOpen, dingtalktest.Refusal(400, "notStream"))
	findings, err = b.adapter.Check(t.Context())
	all := strings.Join(findings, "\n")
	if err != nil || !strings.Contains(all, "permission missing: Card.Streaming.Write") || !strings.Contains(all, "notStream") {
		t.Errorf("%s, %v", all, err)
	}
	c := newBench(t, setup{})
	c.adapter.api.cfg.ClientSecret = "wrong"
	if findings, err := c.adapter.Check(t.Context()); err != nil || len(findings) != 1 || !strings.Contains(findings[0], "refused") {
		t.Errorf("%q, %v", findings, err)
	}
}

func TestConfig(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"account is empty":      func(c *Config) { c.Account = "" },
		"mode":                  func(c *Config) { c.Mode = "pigeon" },
		"clientId is empty":     func(c *Config) { c.ClientID = "" },
		"clientSecret is empty": func(c *Config) { c.ClientSecret = "" },
		"oapiBaseUrl":           func(c *Config) { c.OAPIBaseURL = "oapi.dingtalk.com" },
		"the longest wait":      func(c *Config) { c.Timing.ReconnectMin, c.Timing.ReconnectMax = 2, 1 },
	} {
		cfg := Config{Account: "main", ClientID: "id", ClientSecret: "secret"}
		if _, err := New(cfg, Deps{}); err != nil {
			t.Fatal(err)
		}
		change(&cfg)
		if _, err := New(cfg, Deps{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	cfg := Config{ClientID: "id", BaseURL: "http://x/"}.withDefaults()
	if cfg.RobotCode != "id" || cfg.BaseURL != "http://x" || cfg.OAPIBaseURL != DefaultOAPIBaseURL || cfg.Mode != ModeStream {
		t.Errorf("%+v", cfg)
	}
}
