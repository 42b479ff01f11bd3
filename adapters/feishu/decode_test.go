package feishu

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

var update = flag.Bool("update", false, "write the golden files anew")

const testBot = "ou_bot"

// goldenMessage is a message with its raw content readable.
type goldenMessage struct {
	*adapters.Message
	Raw string `json:"raw,omitempty"`
}

func TestDecode(t *testing.T) {
	inputs, err := filepath.Glob("testdata/decode/*.json")
	if err != nil || len(inputs) == 0 {
		t.Fatal("no input", err)
	}
	for _, path := range inputs {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			input, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			event, err := parseMessage(input)
			if err != nil {
				t.Fatal(err)
			}
			topic := fields[struct{ Topic bool }](input).Topic
			m, err := decodeMessage("ev_1", event, testBot, topic)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(goldenMessage{m, ""}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			if string(m.Raw) != event.Message.Content {
				t.Error("the raw content is not kept")
			}
			got = append(got, '\n')
			golden := strings.TrimSuffix(path, ".json") + ".golden"
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestDecodeEveryTypeHasAGoldenFile(t *testing.T) {
	covered := map[string]bool{}
	inputs, _ := filepath.Glob("testdata/decode/*.json")
	for _, path := range inputs {
		input, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		event, err := parseMessage(input)
		if err != nil {
			t.Fatal(err)
		}
		covered[event.Message.MessageType] = true
	}
	same := map[string]string{"calendar": "share_calendar_event", "general_calendar": "share_calendar_event", "video": "media"}
	for msgType := range decoders {
		if !covered[msgType] && !covered[same[msgType]] {
			t.Errorf("no golden file for %s", msgType)
		}
	}
}

func TestMentionNeedsAKnownSelf(t *testing.T) {
	event := &messageEvent{}
	event.Message.ChatType = "group"
	event.Message.MessageType = "text"
	event.Message.Content = `{"text":"@_user_1 hello"}`
	event.Message.Mentions = []mention{{Key: "@_user_1", ID: userID{OpenID: ""}, Name: "Bot"}}
	event.Sender.SenderID.OpenID = "ou_1"
	m, err := decodeMessage("ev", event, "", false)
	if err != nil {
		t.Fatal(err)
	}
	if m.Mentioned {
		t.Error("mentioned although the bot does not know who it is")
	}
}

func TestOwnMessagesAreDropped(t *testing.T) {
	event := &messageEvent{}
	event.Sender.SenderID.OpenID = testBot
	if _, err := decodeMessage("ev", event, testBot, false); !errors.Is(err, errOwnMessage) {
		t.Errorf("err = %v", err)
	}
}

func TestParseMessageRefusesMissingIDs(t *testing.T) {
	for _, input := range []string{
		``, `null`, `[]`, `{}`, `"x"`, `{"message":{}}`, `{"message":{"message_id":"om_1"}}`,
		`{"sender":{"sender_id":{"open_id":"ou_1"}},"message":{"message_id":"om_1"}}`,
		`{"message":{"message_id":"om_1","chat_id":"oc_1"}}`,
		`{"sender":{"sender_id":{"open_id":"` + strings.Repeat("x", 300) + `"}},"message":{"message_id":"om_1","chat_id":"oc_1"}}`,
	} {
		if _, err := parseMessage([]byte(input)); !errors.Is(err, errNoEvent) {
			t.Errorf("%.60s: err = %v", input, err)
		}
	}
}

func TestDecodeIsBounded(t *testing.T) {
	half := strings.Repeat("{a}", 25_000)
	for msgType, content := range map[string]string{
		"system": encode(map[string]string{"template": half, "a": strings.Repeat(half, 2)}),
		"text":   encode(map[string]string{"text": strings.Repeat("@_user_2", 20_000)}),
		typeCard: strings.Repeat(`{"elements":[`, 5000) + strings.Repeat(`]}`, 5000),
	} {
		at := newMentions([]mention{{Key: "@_user_2", Name: strings.Repeat("名", 10_000)}}, testBot)
		if b := decodeContent(msgType, content, at); len(b.text) > maxDecoded+1000 {
			t.Errorf("%s: %d bytes", msgType, len(b.text))
		}
	}
}

func FuzzDecode(f *testing.F) {
	inputs, _ := filepath.Glob("testdata/decode/*.json")
	for _, path := range inputs {
		if input, err := os.ReadFile(path); err == nil {
			f.Add(input, false)
		}
	}
	f.Add([]byte(`{"sender":{"sender_id":{"open_id":"ou_1"}},"message":{"message_id":"om_1","chat_id":"oc_1","message_type":"interactive","content":"{\"elements\":[[[[\"{}\"]]]]}"}}`), true)
	f.Fuzz(func(t *testing.T, input []byte, topic bool) {
		event, err := parseMessage(input)
		if err != nil {
			return
		}
		m, err := decodeMessage("ev", event, testBot, topic)
		if err != nil {
			return
		}
		if m.ID == "" || m.Chat.ID == "" || m.Sender.ID == "" {
			t.Errorf("a message without ids: %+v", m)
		}
		if len(m.Text) > maxDecoded+1000 {
			t.Errorf("text of %d bytes", len(m.Text))
		}
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, new(adapters.Message)); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzContent tries every decoder with any content.
func FuzzContent(f *testing.F) {
	for msgType := range decoders {
		f.Add(msgType, `{"text":"x","content":[[{"tag":"text","text":"x"}]],"template":"{a}","a":["b"]}`)
	}
	f.Fuzz(func(t *testing.T, msgType, content string) {
		at := newMentions([]mention{{Key: "@_user_1", ID: userID{OpenID: testBot}, Name: "@_user_2"}, {Key: "@_user_2", Name: "Li"}}, testBot)
		b := decodeContent(msgType, content, at)
		if b.unsupported && b.text == "" {
			t.Error("an unsupported message does not say what it was")
		}
	})
}
