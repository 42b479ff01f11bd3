package dingtalk

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/adapters"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func testDecoder(t testing.TB) *decoder {
	t.Helper()
	seal, err := newSealer("dingfake01", "s3cr3t")
	if err != nil {
		t.Fatal(err)
	}
	return &decoder{robotCode: "dingfake01", seal: seal}
}

// golden is what a test file must decode to. Raw is left out, and of the reference
// what is random.
type golden struct {
	Message *adapters.Message `json:"message,omitempty"`
	Event   *adapters.Event   `json:"event,omitempty"`
	Ref     *ref              `json:"ref,omitempty"`
}

func TestDecodeGolden(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.json")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	d := testDecoder(t)
	for _, input := range inputs {
		name := strings.TrimSuffix(filepath.Base(input), ".json")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			m, e, err := d.decode(data, "frame-1")
			if err != nil {
				t.Fatal(err)
			}
			g := golden{Message: m, Event: e}
			if m != nil {
				r, err := parseRef(m.Ref)
				if err != nil {
					t.Fatal(err)
				}
				if webhook, err := d.seal.open(r.Webhook, r.ConversationID); err != nil || !strings.Contains(webhook, "session=fa4e") {
					t.Errorf("webhook %q, %v", webhook, err)
				}
				if bytes.Contains(m.Ref, []byte("fa4e")) || bytes.Contains(m.Raw, []byte("fa4e")) {
					t.Error("the session webhook is kept in the clear")
				}
				if !json.Valid(m.Raw) || !bytes.Contains(m.Raw, []byte(`"senderNick"`)) {
					t.Errorf("raw: %s", m.Raw)
				}
				r.Webhook = nil
				g.Ref, m.Ref, m.Raw = &r, nil, nil
			}
			got, err := json.MarshalIndent(g, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			file := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct {
		body string
		want error
	}{
		{"", errNotAMessage},
		{"[]", errNotAMessage},
		{"null", errNotAMessage},
		{"{}", errNotAMessage},
		{`{"msgId":"m","conversationId":"c","senderId":"s"}`, errNotAMessage},
		{`{"msgId":"m","conversationId":"c","conversationType":"3","senderId":"s"}`, errNotAMessage},
		{`{"msgId":"m","conversationId":"cidGroup","conversationType":"1"}`, errNotAMessage},
		{`{"msgId":"m","conversationType":"1","senderId":"s"}`, errNotAMessage},
		{`{"msgId":"` + strings.Repeat("m", 257) + `","conversationId":"c","conversationType":"1","senderId":"s"}`, errNotAMessage},
		{`{"msgId":"m","conversationId":"c","conversationType":"2","senderId":"$:b","chatbotUserId":"$:b","msgtype":"text","text":{"content":"loop"}}`, errOwnMessage},
	} {
		m, e, err := testDecoder(t).decode([]byte(c.body), "")
		if m != nil || e != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %+v, %v", c.body, m, e, err)
		}
	}
}

func TestChatTypeComesFromConversationTypeAlone(t *testing.T) {
	for kind, want := range map[string]adapters.ChatType{"1": adapters.Direct, "2": adapters.Group} {
		body := `{"msgId":"m","conversationId":"cidSame==","conversationType":"` + kind + `","senderId":"s","conversationTitle":"x","isInAtList":false,"msgtype":"text","text":{"content":"x"}}`
		m, _, err := testDecoder(t).decode([]byte(body), "")
		if err != nil || m.Chat.Type != want || m.Mentioned != (want == adapters.Direct) {
			t.Errorf("%s: %+v, %v", kind, m, err)
		}
	}
}

func TestGroupMessageThatDoesNotTellIsAMention(t *testing.T) {
	body := `{"msgId":"m","conversationId":"c","conversationType":"2","senderId":"s","msgtype":"text","text":{"content":"x"}}`
	if m, _, err := testDecoder(t).decode([]byte(body), ""); err != nil || !m.Mentioned {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestQuotaNoticeIsTheSameOnEveryDelivery(t *testing.T) {
	data := []byte(`{"errorCode":"20001","errorMessage":"used up","createAt":1}`)
	_, first, _ := testDecoder(t).decode(data, "a")
	_, second, _ := testDecoder(t).decode(data, "b")
	if first == nil || first.ID == "" || first.ID != second.ID || first.Kind != adapters.QuotaNotice || first.Value != "used up" {
		t.Errorf("%+v and %+v", first, second)
	}
}

func FuzzDecode(f *testing.F) {
	inputs, _ := filepath.Glob("testdata/*.json")
	for _, input := range inputs {
		data, err := os.ReadFile(input)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	d := testDecoder(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, e, err := d.decode(data, "frame")
		switch {
		case err != nil:
			if m != nil || e != nil {
				t.Fatal("an error and a result")
			}
		case m != nil:
			if m.ID == "" || m.Chat.ID == "" || m.Sender.ID == "" || m.Chat.Type == "" {
				t.Fatalf("incomplete: %+v", m)
			}
			if m.Text == "" && len(m.Attachments) == 0 && !m.Unsupported && (m.Quote == nil || m.Quote.Text == "") {
				t.Fatalf("nothing in it, but it counts as supported: %+v", m)
			}
			if _, err := json.Marshal(m); err != nil {
				t.Fatal(err)
			}
		case e == nil || e.ID == "":
			t.Fatal("nothing at all")
		}
	})
}

func TestTextThatLooksLikeJSON(t *testing.T) {
	const said = `{"a": 1}`
	for name, fields := range map[string]string{
		"text":             `"text":{"content":"{\"a\": 1}"}`,
		"content":          `"content":"{\"a\": 1}"`,
		"quoted as text":   `"text":{"content":"x","repliedMsg":{"msgType":"text","content":"{\"a\": 1}"}}`,
		"quoted in object": `"text":{"content":"x","repliedMsg":{"msgType":"text","content":{"text":"{\"a\": 1}"}}}`,
	} {
		body := `{"msgId":"m","conversationId":"c","conversationType":"1","senderId":"s","msgtype":"text",` + fields + `}`
		m, _, err := testDecoder(t).decode([]byte(body), "")
		if err != nil {
			t.Fatal(err)
		}
		got := m.Text
		if m.Quote != nil {
			got = m.Quote.Text
		}
		if got != said {
			t.Errorf("%s: %q", name, got)
		}
	}
}
