package feishu

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/chatkeep/chatkeep/adapters"
)

// post is rich text as people send it. ContentV2 is the same as Markdown and
// absent from older clients.
type post struct {
	Title     string       `json:"title"`
	Content   [][]postNode `json:"content"`
	ContentV2 [][]postNode `json:"content_v2"`
}

func (p post) empty() bool { return p.Title == "" && len(p.Content) == 0 && len(p.ContentV2) == 0 }

type postNode struct {
	Tag       string   `json:"tag"`
	Text      string   `json:"text"`
	Href      string   `json:"href"`
	UserID    string   `json:"user_id"`
	UserName  string   `json:"user_name"`
	ImageKey  string   `json:"image_key"`
	FileKey   string   `json:"file_key"`
	FileName  string   `json:"file_name"`
	EmojiType string   `json:"emoji_type"`
	Language  string   `json:"language"`
	Style     []string `json:"style"`
}

// parsePost reads a post in its flat form or wrapped by locale.
func parsePost(content []byte) post {
	p := fields[post](content)
	if !p.empty() {
		return p
	}
	locales := fields[map[string]json.RawMessage](content)
	names := make([]string, 0, len(locales))
	for name := range locales {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range append([]string{"zh_cn", "en_us"}, names...) {
		if inner, ok := locales[name]; ok {
			if p := fields[post](inner); !p.empty() {
				return p
			}
		}
	}
	return post{}
}

func decodePost(content []byte, m *mentions) body {
	p := parsePost(content)
	var b body
	text := renderNodes(p.ContentV2, m, &b)
	if flat := renderNodes(p.Content, m, &b); strings.TrimSpace(text) == "" {
		text = flat
	}
	for _, key := range imageKey.FindAllStringSubmatch(text, -1) {
		attach(&b, adapters.Image, key[1], "")
	}
	text = imageKey.ReplaceAllString(text, "")
	if title := strings.TrimSpace(p.Title); title != "" {
		text = "**" + title + "**\n\n" + text
	}
	b.text = strings.TrimSpace(text)
	return b
}

// imageKey finds pictures in Markdown.
var imageKey = regexp.MustCompile(`!\[[^\]]*\]\((img_[A-Za-z0-9_-]+)\)`)

func attach(b *body, kind adapters.AttachmentKind, key, name string) {
	known := slices.ContainsFunc(b.attachments, func(a adapters.Attachment) bool { return a.Key == key })
	if key != "" && !known {
		b.attachments = append(b.attachments, adapters.Attachment{Kind: kind, Key: key, Name: name})
	}
}

// renderNodes writes paragraphs as Markdown and collects their pictures and videos.
func renderNodes(paragraphs [][]postNode, m *mentions, b *body) string {
	var out strings.Builder
	for _, paragraph := range paragraphs {
		for _, node := range paragraph {
			out.WriteString(renderNode(node, m, b))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func renderNode(n postNode, m *mentions, b *body) string {
	switch n.Tag {
	case "text":
		return styled(m.resolve(n.Text), n.Style)
	case "md":
		return m.resolveMarkdown(n.Text)
	case "a":
		if n.Text == "" || n.Text == n.Href {
			return n.Href
		}
		return "[" + n.Text + "](" + n.Href + ")"
	case "at":
		if name := m.name(n.UserID, n.UserName); name != "" {
			return name + " "
		}
	case "img":
		attach(b, adapters.Image, n.ImageKey, "")
	case "media":
		attach(b, adapters.Video, n.FileKey, n.FileName)
	case "emotion":
		if n.EmojiType != "" {
			return ":" + n.EmojiType + ":"
		}
	case "code_block":
		return "```" + strings.ToLower(n.Language) + "\n" + strings.TrimRight(n.Text, "\n") + "\n```"
	case "hr":
		return "---"
	}
	return ""
}

// styled marks text; white space at the ends stays outside the marks.
func styled(text string, styles []string) string {
	core := strings.TrimSpace(text)
	if core == "" {
		return text
	}
	lead, tail, _ := strings.Cut(text, core)
	for _, mark := range []struct{ style, mark string }{{"bold", "**"}, {"italic", "*"}, {"lineThrough", "~~"}} {
		if slices.Contains(styles, mark.style) {
			core = mark.mark + core + mark.mark
		}
	}
	return lead + core + tail
}
