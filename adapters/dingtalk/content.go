package dingtalk

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/chatkeep/chatkeep/adapters"
)

// content is what a message says, whatever its type.
type content struct {
	text        strings.Builder
	attachments []adapters.Attachment
	quote       *adapters.Quote
	// unsupported says what the message was if it holds nothing to work with.
	unsupported string
}

var manyBreaks = regexp.MustCompile(`\n{3,}`)

// words returns the text, trimmed as people mean it: the place of the removed
// mention and stray line breaks are no part of it.
func (c *content) words() string {
	return manyBreaks.ReplaceAllString(strings.TrimSpace(c.text.String()), "\n\n")
}

func contentOf(b *body) *content {
	c := &content{unsupported: string(b.MsgType)}
	text, data := asPayload(b.Text), asPayload(b.Content)
	switch b.MsgType {
	case "text":
		for _, p := range []payload{text, {Content: b.Content}, data} {
			if c.words() == "" {
				c.text.WriteString(textOf(p))
			}
		}
	case "richText":
		c.richText(firstList(data.RichText, data.RichTextList, b.RichText, b.Content))
	case "picture", "audio", "video", "file":
		c.media(kindOf[string(b.MsgType)], data)
		if data.code() == "" && data.FileName != "" {
			c.unsupported += ": " + string(data.FileName)
		}
	case "unknownMsgType":
		if data.UnknownMsgType != "" {
			c.unsupported = string(data.UnknownMsgType)
		}
	case "chatRecord":
		c.chatRecord(data)
	default:
		c.other(text, data)
	}
	c.quoteOf(b, text, data)
	return c
}

var kindOf = map[string]adapters.AttachmentKind{
	"picture": adapters.Image, "audio": adapters.Audio, "video": adapters.Video, "file": adapters.File,
}

// media adds the file of a message, with what was said in a recording.
func (c *content) media(kind adapters.AttachmentKind, p payload) {
	if code := p.code(); code != "" {
		c.attachments = append(c.attachments, adapters.Attachment{
			Kind: kind, Key: code, Name: string(p.FileName), Size: int64(p.FileSize), Text: string(p.Recognition),
		})
	} else {
		c.text.WriteString(string(p.Recognition))
	}
}

// segment is one part of a rich text; quoted ones name their fields differently.
type segment struct {
	Type    str             `json:"type"`
	MsgType str             `json:"msgType"`
	Text    str             `json:"text"`
	Content json.RawMessage `json:"content"`
	AtName  str             `json:"atName"`
	payload
}

func (c *content) richText(segments []json.RawMessage) {
	for _, raw := range segments {
		var s segment
		if json.Unmarshal(unwrap(raw), &s) != nil {
			continue
		}
		kind := string(s.Type)
		if kind == "" {
			kind = string(s.MsgType)
		}
		code := s.code()
		if code == "" {
			code = asPayload(s.Content).code()
		}
		switch {
		case code != "":
			attachment := kindOf[kind]
			if attachment == "" {
				attachment = adapters.Image
			}
			c.attachments = append(c.attachments, adapters.Attachment{Kind: attachment, Key: code, Name: string(s.FileName)})
			c.separate()
		case s.AtName != "":
			c.text.WriteString("@" + strings.TrimPrefix(string(s.AtName), "@"))
		case s.Text != "":
			c.text.WriteString(string(s.Text))
		default:
			c.text.WriteString(string(asPayload(s.Content).Text))
		}
	}
}

// separate keeps the texts before and after a picture apart.
func (c *content) separate() {
	if s := c.text.String(); s != "" && !strings.HasSuffix(s, "\n") {
		c.text.WriteByte('\n')
	}
}

// chatRecord takes forwarded messages as a quote: they are not the sender's words.
func (c *content) chatRecord(p payload) {
	var lines []string
	records := elements(p.Records)
	if records == nil {
		records = elements(p.Content)
	}
	for _, raw := range records {
		var record struct {
			Sender  str             `json:"senderNick"`
			Name    str             `json:"senderName"`
			Content json.RawMessage `json:"content"`
			Text    json.RawMessage `json:"text"`
		}
		if json.Unmarshal(unwrap(raw), &record) != nil {
			continue
		}
		text := deepText(record.Content)
		if text == "" {
			text = deepText(record.Text)
		}
		if text == "" {
			continue
		}
		if record.Sender == "" {
			record.Sender = record.Name
		}
		if record.Sender != "" {
			text = string(record.Sender) + ": " + text
		}
		lines = append(lines, text)
	}
	summary := string(p.Summary)
	if summary == "" {
		summary = string(p.Title)
	}
	switch {
	case len(lines) > 0:
		c.quote = &adapters.Quote{Text: strings.Join(lines, "\n")}
	case summary != "":
		c.quote = &adapters.Quote{Text: summary}
	}
}

// other takes what can be understood of a type that is not documented.
func (c *content) other(text, data payload) {
	for _, p := range []payload{text, data} {
		c.text.WriteString(textOf(p))
		c.media(adapters.File, p)
		if c.words() != "" {
			break
		}
	}
	if c.words() == "" {
		for _, s := range []str{data.Markdown, data.Title, data.Summary, data.ActionURL} {
			if s != "" {
				c.separate()
				c.text.WriteString(string(s))
			}
		}
	}
	if c.words() == "" {
		c.richText(firstList(data.RichText, data.RichTextList))
	}
	if c.words() == "" && data.UnknownMsgType != "" {
		c.unsupported = string(data.UnknownMsgType)
	}
}

// textOf returns the plain text of a payload: content, or text.
func textOf(p payload) string {
	var content str
	if len(p.Content) > 0 {
		_ = content.UnmarshalJSON(p.Content)
	}
	if content != "" {
		return string(content)
	}
	return string(p.Text)
}

// firstList returns the first of several fields that is a list, or an object with one.
func firstList(fields ...json.RawMessage) []json.RawMessage {
	for _, raw := range fields {
		if list := elements(raw); list != nil {
			return list
		}
		p := asPayload(raw)
		if list := elements(p.RichTextList); list != nil {
			return list
		}
		if list := elements(p.RichText); list != nil {
			return list
		}
	}
	return nil
}
