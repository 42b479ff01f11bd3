package feishutest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type answered struct {
	Code int
	Data struct {
		MessageID string `json:"message_id"`
		CardID    string `json:"card_id"`
	}
	Token string `json:"tenant_access_token"`
}

// caller calls a platform as an app would, without the SDK.
type caller struct {
	t     *testing.T
	s     *Server
	token string
}

func newCaller(t *testing.T, opts Options) *caller {
	t.Helper()
	s, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	c := &caller{t: t, s: s}
	c.token = c.call("POST", "/auth/v3/tenant_access_token/internal", map[string]any{"app_id": DefaultAppID, "app_secret": DefaultAppSecret}).Token
	return c
}

func (c *caller) call(method, path string, body any) answered {
	c.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.s.URL()+"/open-apis"+path, bytes.NewReader(data))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var a answered
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		c.t.Fatal(err)
	}
	return a
}

func (c *caller) send(uuid, msgType, content string) answered {
	c.t.Helper()
	return c.call("POST", "/im/v1/messages?receive_id_type=chat_id", map[string]any{"receive_id": "oc_1", "msg_type": msgType, "content": content, "uuid": uuid})
}

func TestUUIDIsKnownForAnHour(t *testing.T) {
	fake := clock.NewFake(time.Unix(1_800_000_000, 0))
	c := newCaller(t, Options{Clock: fake})
	c.s.AddChat("oc_1", Group, "Group")
	first := c.send("u1", "text", `{"text":"a"}`).Data.MessageID
	fake.Advance(59 * time.Minute)
	if again := c.send("u1", "text", `{"text":"a"}`).Data.MessageID; again != first {
		t.Errorf("after 59 minutes: %q, want %q", again, first)
	}
	fake.Advance(2 * time.Minute)
	if again := c.send("u1", "text", `{"text":"a"}`).Data.MessageID; again == first || again == "" {
		t.Errorf("after an hour: %q", again)
	}
	if n := len(c.s.Messages("oc_1")); n != 2 {
		t.Errorf("%d messages", n)
	}
}

func TestRefusals(t *testing.T) {
	c := newCaller(t, Options{})
	c.s.AddChat("oc_1", Group, "Group")
	card := func(text string) string {
		data, err := json.Marshal(map[string]any{"schema": "2.0", "body": map[string]any{"elements": []any{map[string]any{"tag": "markdown", "content": text}}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for name, want := range map[string]struct {
		msgType, content string
		code             int
	}{
		"text":            {"text", `{"text":"a"}`, 0},
		"card":            {"interactive", card("a"), 0},
		"no JSON":         {"text", `a`, 230001},
		"empty":           {"text", `{"text":""}`, 230001},
		"unknown type":    {"hologram", `{}`, 230001},
		"no card":         {"interactive", `{"x":1}`, 230099},
		"long card":       {"interactive", card(strings.Repeat("x", maxCardBytes)), 230025},
		"too many tables": {"interactive", card(strings.Repeat("| a |\n|---|\n| b |\n\n", maxTables+1)), 230099},
		"foreign picture": {"interactive", card("![x](https://x/y.png)"), 230099},
		"unknown image":   {"image", `{"image_key":"img_x"}`, 230001},
	} {
		if got := c.send("", want.msgType, want.content); got.Code != want.code {
			t.Errorf("%s: code %d, want %d", name, got.Code, want.code)
		}
	}
	c.s.RemoveBot("oc_1", "ou_1")
	if got := c.send("", "text", `{"text":"a"}`); got.Code != 230002 {
		t.Errorf("outside of the group: code %d", got.Code)
	}
	c.token = "t-other"
	if got := c.send("", "text", `{"text":"a"}`); got.Code != 99991663 {
		t.Errorf("wrong token: code %d", got.Code)
	}
}

func TestCardSequenceAndLife(t *testing.T) {
	fake := clock.NewFake(time.Unix(1_800_000_000, 0))
	c := newCaller(t, Options{Clock: fake})
	data := `{"schema":"2.0","config":{"streaming_mode":true},"body":{"elements":[{"tag":"markdown","element_id":"e","content":"…"}]}}`
	id := c.call("POST", "/cardkit/v1/cards", map[string]any{"type": "card_json", "data": data}).Data.CardID
	write := func(sequence int) int {
		return c.call("PUT", "/cardkit/v1/cards/"+id+"/elements/e/content", map[string]any{"content": "x", "sequence": sequence}).Code
	}
	for _, step := range []struct{ sequence, code int }{{0, 300317}, {1, 0}, {1, 300317}, {5, 0}, {4, 300317}} {
		if got := write(step.sequence); got != step.code {
			t.Errorf("sequence %d: code %d, want %d", step.sequence, got, step.code)
		}
	}
	fake.Advance(11 * time.Minute)
	if got := write(6); got != 300309 {
		t.Errorf("after 11 minutes: code %d", got)
	}
}

func TestRedeliverySchedule(t *testing.T) {
	fake := clock.NewFake(time.Unix(1_800_000_000, 0))
	c := newCaller(t, Options{Clock: fake, Redeliver: []time.Duration{15 * time.Second, 5 * time.Minute}, WebhookURL: "http://127.0.0.1:1/nobody"})
	id := c.s.Say(Said{ChatID: "oc_1", Text: "hi"})
	wait := func(want int, step time.Duration) {
		t.Helper()
		deadline := time.NewTimer(10 * time.Second)
		defer deadline.Stop()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for c.s.Nacks(id) < want {
			select {
			case <-tick.C:
				fake.Advance(step)
			case <-deadline.C:
				t.Fatalf("%d tries, want %d", c.s.Nacks(id), want)
			}
		}
	}
	start := fake.Now()
	for try, after := range []time.Duration{0, 15 * time.Second, 5*time.Minute + 15*time.Second} {
		step := time.Second
		if try == 0 {
			step = 0
		}
		wait(try+1, step)
		if waited := fake.Now().Sub(start); waited < after {
			t.Errorf("try %d came after %v, want %v", try+1, waited, after)
		}
	}
}
