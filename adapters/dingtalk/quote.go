package dingtalk

import (
	"encoding/json"
	"strings"

	"github.com/chatkeep/chatkeep/adapters"
)

// repliedMsg is a quoted message, in the newer shape.
type repliedMsg struct {
	MsgType    str             `json:"msgType"`
	MsgID      str             `json:"msgId"`
	SenderID   str             `json:"senderId"`
	SenderNick str             `json:"senderNick"`
	Content    json.RawMessage `json:"content"`
	Text       json.RawMessage `json:"text"`
}

// quoteOf finds the quoted message in any of the places where it has been seen.
func (c *content) quoteOf(b *body, text, data payload) {
	for _, p := range []payload{text, data} {
		if raw := unwrap(p.RepliedMsg); len(raw) > 0 && string(raw) != "null" {
			c.replied(raw, string(b.ChatbotUserID))
			return
		}
		if p.OriginalMsgID != "" && bool(p.IsReplyMsg) {
			c.quote = &adapters.Quote{MessageID: string(p.OriginalMsgID)}
		}
	}
	for _, raw := range []json.RawMessage{b.QuoteMessage, text.QuoteMessage, data.QuoteMessage} {
		if raw = unwrap(raw); len(raw) > 0 && string(raw) != "null" {
			c.replied(raw, string(b.ChatbotUserID))
			return
		}
	}
	for _, raw := range []json.RawMessage{data.QuoteContent, text.QuoteContent} {
		if quoted := deepText(raw); quoted != "" {
			c.quote = &adapters.Quote{Text: quoted}
			return
		}
	}
}

func (c *content) replied(raw json.RawMessage, robot string) {
	var r repliedMsg
	if raw[0] != '{' || json.Unmarshal(raw, &r) != nil {
		c.quote = &adapters.Quote{Text: deepText(raw)}
		return
	}
	q := &adapters.Quote{
		MessageID:  string(r.MsgID),
		SenderID:   string(r.SenderID),
		SenderName: string(r.SenderNick),
		FromBot:    r.SenderID != "" && string(r.SenderID) == robot,
	}
	quoted := &content{}
	p := asPayload(r.Content)
	if segments := firstList(p.RichText, p.RichTextList, r.Content); segments != nil {
		quoted.richText(segments)
	} else if kind := kindOf[string(r.MsgType)]; kind != "" {
		quoted.media(kind, p)
	}
	q.Text = quoted.words()
	if q.Text == "" && r.MsgType == "text" { // as it is, though it may look like JSON
		if q.Text = strings.TrimSpace(textOf(payload{Content: r.Content})); q.Text == "" {
			q.Text = strings.TrimSpace(textOf(p))
		}
	}
	if q.Text == "" && len(quoted.attachments) == 0 {
		q.Text = deepText(r.Content)
	}
	if q.Text == "" {
		q.Text = deepText(r.Text)
	}
	for _, at := range quoted.attachments {
		if at.Text != "" {
			q.Text = at.Text
			continue
		}
		// "What is in this picture?" is about a picture that only the quote brings.
		at.Quoted = true
		c.attachments = append(c.attachments, at)
	}
	c.quote = q
}

// Limits on what is read out of the nested trees of quoted cards.
const (
	maxDepth     = 16
	maxDeepBytes = 16 << 10
)

// deepText collects the readable strings of a value of unknown shape: plain text,
// an object with text or content, or a tree of card elements, in its own order.
func deepText(raw json.RawMessage) string {
	var parts []string
	size := 0
	var walk func(raw json.RawMessage, depth int)
	walk = func(raw json.RawMessage, depth int) {
		raw = unwrap(raw)
		if len(raw) == 0 || depth > maxDepth || size > maxDeepBytes {
			return
		}
		switch raw[0] {
		case '"':
			var s string
			if json.Unmarshal(raw, &s) == nil && strings.TrimSpace(s) != "" {
				parts = append(parts, strings.TrimSpace(s))
				size += len(s)
			}
		case '[':
			for _, e := range elements(raw) {
				if e = unwrap(e); len(e) > 0 && e[0] != '"' {
					walk(e, depth+1)
				}
			}
		case '{':
			for _, f := range readableFields(raw) {
				walk(f, depth+1)
			}
		}
	}
	walk(raw, 0)
	return strings.Join(parts, "\n")
}

// readable are the names of fields that hold what people read or lead to it.
var readable = map[string]bool{
	"text": true, "content": true, "title": true, "markdown": true, "summary": true, "richText": true, "richTextList": true,
	"cardContent": true, "elements": true, "children": true, "contents": true, "body": true, "value": true, "data": true,
}

// readableFields returns the readable fields of an object in their order.
func readableFields(raw json.RawMessage) []json.RawMessage {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	if _, err := dec.Token(); err != nil {
		return nil
	}
	var out []json.RawMessage
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return out
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return out
		}
		if s, ok := name.(string); ok && readable[s] {
			out = append(out, value)
		}
	}
	return out
}
