package feishu

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/chatkeep/chatkeep/internal/markdown"
	"github.com/chatkeep/chatkeep/models"
)

const (
	// maxContent is the largest content of a card or post as it goes over the wire,
	// in bytes. The platform refuses a request over 30 KB, and style marks count more
	// there than here: https://open.feishu.cn/document/server-docs/im-v1/message/create.
	maxContent = 25 << 10
	// maxText is the same for plain text; the platform's limit is 150 KB.
	maxText = 120 << 10
	// maxTables is how many tables a card holds safely (error 230099, sub-code 11310).
	maxTables = 3
)

// The elements of a card that are changed later.
const (
	textElement = "answer"
	stopElement = "stop_button"
)

// card is a card in the structure of version 2.0:
// https://open.feishu.cn/document/feishu-cards/card-json-v2-structure.
type card struct {
	Schema string     `json:"schema"`
	Config cardConfig `json:"config"`
	Body   cardBody   `json:"body"`
}

type cardConfig struct {
	UpdateMulti   bool         `json:"update_multi"`
	StreamingMode bool         `json:"streaming_mode,omitempty"`
	Summary       *cardSummary `json:"summary,omitempty"`
}

type cardSummary struct {
	Content string `json:"content"`
}

type cardBody struct {
	Elements []cardElement `json:"elements"`
}

type cardElement struct {
	Tag       string         `json:"tag"`
	ElementID string         `json:"element_id,omitempty"`
	Content   string         `json:"content,omitempty"`
	Text      *cardText      `json:"text,omitempty"`
	Type      string         `json:"type,omitempty"`
	Size      string         `json:"size,omitempty"`
	Behaviors []cardBehavior `json:"behaviors,omitempty"`
}

type cardText struct {
	Tag     string            `json:"tag"`
	Content string            `json:"content"`
	I18n    map[string]string `json:"i18n_content,omitempty"`
}

type cardBehavior struct {
	Type  string      `json:"type"`
	Value buttonValue `json:"value"`
}

// summaryLength is how much of an answer the list of chats shows, in characters.
const summaryLength = 60

// finalCard is a card that does not change any more, with buttons below the text.
func finalCard(text string, buttons ...models.Button) string {
	c := card{
		Schema: "2.0",
		Config: cardConfig{UpdateMulti: true, Summary: summary(text)},
		Body:   cardBody{[]cardElement{{Tag: "markdown", ElementID: textElement, Content: limitTables(text)}}},
	}
	for _, b := range buttons {
		look := "default"
		if b.Primary {
			look = "primary"
		}
		c.Body.Elements = append(c.Body.Elements, cardElement{
			Tag: "button", Type: look, Size: "small", Text: &cardText{Tag: "plain_text", Content: b.Label},
			Behaviors: []cardBehavior{{Type: "callback", Value: buttonValue{Action: b.Value}}},
		})
	}
	return encode(c)
}

// streamingCard is a card that text can still flow into, with a button that stops
// the answer to inboundID.
func streamingCard(text, inboundID string) string {
	c := card{
		Schema: "2.0",
		Config: cardConfig{UpdateMulti: true, StreamingMode: true, Summary: &cardSummary{"…"}},
		Body:   cardBody{[]cardElement{{Tag: "markdown", ElementID: textElement, Content: text}}},
	}
	if inboundID != "" {
		c.Body.Elements = append(c.Body.Elements, cardElement{
			Tag: "button", ElementID: stopElement, Type: "default", Size: "small",
			Text: &cardText{Tag: "plain_text", Content: "⏹ Stop", I18n: map[string]string{"zh_cn": "⏹ 停止", "en_us": "⏹ Stop"}},
			Behaviors: []cardBehavior{{Type: "callback", Value: buttonValue{
				Action: stopAction, InboundID: inboundID,
			}}},
		})
	}
	return encode(c)
}

func summary(text string) *cardSummary {
	title := markdown.Title(atTag.ReplaceAllString(text, ""), summaryLength)
	if title == "" {
		return nil
	}
	return &cardSummary{title}
}

// limitTables turns the tables beyond what a card holds into lists.
func limitTables(text string) string {
	if !strings.Contains(text, "|") {
		return text
	}
	blocks := markdown.Blocks(text)
	tables := 0
	var out strings.Builder
	for _, b := range blocks {
		if b.Kind == markdown.Table {
			if tables++; tables > maxTables {
				out.WriteString(markdown.TableList(b.Text))
				continue
			}
		}
		out.WriteString(b.Text)
	}
	return out.String()
}

type postContent struct {
	Locale postLocale `json:"zh_cn"`
}

type postLocale struct {
	Content [][]postMarkdown `json:"content"`
}

type postMarkdown struct {
	Tag  string `json:"tag"`
	Text string `json:"text"`
}

// postOf is a post; it has no buttons.
func postOf(text string, _ ...models.Button) string {
	text = cardMention.ReplaceAllString(text, `<at user_id="$1"></at>`)
	return encode(postContent{postLocale{[][]postMarkdown{{{Tag: "md", Text: text}}}}})
}

func textOf(text string, _ ...models.Button) string {
	text = cardMention.ReplaceAllString(text, `<at user_id="$1"></at>`)
	return encode(struct {
		Text string `json:"text"`
	}{text})
}

var (
	cardMention = regexp.MustCompile(`<at id=([A-Za-z0-9_-]+)></at>`)
	mentionable = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
)

// mentionTag is how a card mentions a person; it is empty for a strange id.
func mentionTag(id string) string {
	if !mentionable.MatchString(id) {
		return ""
	}
	return "<at id=" + id + "></at>"
}

// encode returns v as JSON, the characters of HTML as they are.
func encode(v any) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // strings, maps of strings and numbers only
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// wireSize is the size of a content in a request, where it is a JSON string in the
// encoding of the SDK.
func wireSize(content string) int {
	data, err := json.Marshal(content)
	if err != nil {
		panic(err) // a string
	}
	return len(data)
}
