package dingtalktest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, opts Options) (*Server, *clock.Fake) {
	t.Helper()
	c := clock.NewFake(time.Date(2026, 10, 1, 8, 0, 0, 0, time.UTC))
	opts.Clock = c
	s, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, c
}

type reply struct {
	Status   int
	ErrCode  int    `json:"errcode"`
	Code     string `json:"code"`
	Endpoint string `json:"endpoint"`
	Ticket   string `json:"ticket"`
	Token    string `json:"accessToken"`
}

func call(t *testing.T, method, url, token string, in any) reply {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Acs-Dingtalk-Access-Token", token)
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out := reply{Status: resp.StatusCode}
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// ticket asks for a connection and returns its address.
func (s *Server) ticket(t *testing.T) string {
	t.Helper()
	r := call(t, "POST", s.URL()+"/v1.0/gateway/connections/open", "", map[string]any{
		"clientId": s.ClientID(), "clientSecret": s.ClientSecret(),
		"subscriptions": []map[string]string{{"type": "CALLBACK", "topic": "/v1.0/im/bot/messages/get"}},
	})
	if r.Status != 200 || r.Ticket == "" {
		t.Fatalf("%+v", r)
	}
	return r.Endpoint + "?ticket=" + strings.NewReplacer("+", "%2B", "/", "%2F", "=", "%3D", "&", "%26").Replace(r.Ticket)
}

func dial(t *testing.T, address string) (*websocket.Conn, int) {
	t.Helper()
	ws, resp, err := websocket.DefaultDialer.DialContext(t.Context(), address, nil)
	if resp != nil {
		defer resp.Body.Close()
	}
	if err == nil {
		t.Cleanup(func() { _ = ws.Close() })
		return ws, 101
	}
	if resp == nil {
		t.Fatal(err)
	}
	return nil, resp.StatusCode
}

func TestTicketsWorkOnceAndNotForLong(t *testing.T) {
	s, c := start(t, Options{})
	address := s.ticket(t)
	if _, status := dial(t, address); status != 101 {
		t.Errorf("first use: %d", status)
	}
	if _, status := dial(t, address); status != 401 {
		t.Errorf("second use: %d", status)
	}
	address = s.ticket(t)
	c.Advance(91 * time.Second)
	if _, status := dial(t, address); status != 401 {
		t.Errorf("after 91 s: %d", status)
	}
	if r := call(t, "POST", s.URL()+"/v1.0/gateway/connections/open", "", map[string]string{"clientId": "x"}); r.Status != 401 || r.Code != "authFailed" {
		t.Errorf("bad credentials: %+v", r)
	}
}

func TestRedeliveryHasANewHeaderId(t *testing.T) {
	s, _ := start(t, Options{})
	id := s.Say("cidA==", "emp1", "waits for a connection")
	ws, _ := dial(t, s.ticket(t))
	read := func() (header, msgID string) {
		t.Helper()
		var f frame
		if err := ws.ReadJSON(&f); err != nil {
			t.Fatal(err)
		}
		var body struct {
			MsgID string `json:"msgId"`
		}
		if err := json.Unmarshal([]byte(f.Data), &body); err != nil {
			t.Fatal(err)
		}
		return f.Headers["messageId"], body.MsgID
	}
	header, msgID := read()
	s.Redeliver(id)
	again, same := read()
	if msgID != id || same != id || header == again {
		t.Errorf("first %s of %s, then %s of %s", header, msgID, again, same)
	}
}

func TestSessionWebhookLimits(t *testing.T) {
	s, c := start(t, Options{WebhooksPerMinute: 2})
	webhook := func() string {
		s.Say("cidA==", "emp1", "hi")
		s.mu.Lock()
		defer s.mu.Unlock()
		var b struct {
			SessionWebhook string `json:"sessionWebhook"`
		}
		for _, d := range s.deliveries {
			_ = json.Unmarshal(d.body, &b)
		}
		return b.SessionWebhook
	}()
	post := func(text string) int {
		return call(t, "POST", webhook, "", map[string]any{"msgtype": "markdown", "markdown": map[string]string{"title": "t", "text": text}}).ErrCode
	}
	for _, step := range []struct {
		text    string
		advance time.Duration
		want    int
	}{
		{"one", 0, 0}, {strings.Repeat("x", 20000), 0, 460101}, {"two", 0, 0}, {"three", 0, 130101},
		{"four", time.Minute, 0}, {"five", 90 * time.Minute, 300001},
	} {
		c.Advance(step.advance)
		if got := post(step.text); got != step.want {
			t.Errorf("%.10s: errcode %d, want %d", step.text, got, step.want)
		}
	}
	if shown := s.Messages("cidA=="); len(shown) != 4 {
		t.Errorf("%d messages are shown, want the person's and three", len(shown))
	}
}

func TestTokensAreChecked(t *testing.T) {
	s, _ := start(t, Options{})
	body := map[string]any{"robotCode": s.ClientID(), "openConversationId": "cidG==", "msgKey": "sampleText", "msgParam": `{"content":"x"}`}
	send := func(token string) reply {
		return call(t, "POST", s.URL()+"/v1.0/robot/groupMessages/send", token, body)
	}
	if r := send("none"); r.Status != 401 || r.Code != "InvalidAuthentication" {
		t.Errorf("%+v", r)
	}
	token := call(t, "POST", s.URL()+"/v1.0/oauth2/accessToken", "", map[string]string{"appKey": s.ClientID(), "appSecret": s.ClientSecret()}).Token
	if r := send(token); r.Code != "invalid.openConversationId" {
		t.Errorf("%+v", r)
	}
	s.AddChat(Chat{ID: "cidG==", Group: true})
	if r := send(token); r.Status != 200 {
		t.Errorf("%+v", r)
	}
	s.RevokeToken()
	if r := send(token); r.Status != 401 {
		t.Errorf("%+v", r)
	}
}
