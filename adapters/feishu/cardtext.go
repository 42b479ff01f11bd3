package feishu

import (
	"encoding/json"
	"strings"
)

// What is read of a card that somebody sent or forwarded.
const (
	maxCardDepth = 16
	maxCardText  = 16 << 10
)

// cardKeys are the places of a card where its words are, in reading order. Both
// the old and the new structure of cards are covered, and the degraded form that
// the platform hands out.
var cardKeys = []string{
	"json_card", "user_dsl", "zh_cn", "en_us", "title", "header", "subtitle", "content", "text", "body", "elements",
	"fields", "columns", "rows", "actions", "options", "extra",
}

// decodeCard reads the words of a card.
func decodeCard(content []byte, m *mentions) body {
	var card any
	if json.Unmarshal(content, &card) != nil {
		return unsupported("[card]")
	}
	w := cardWords{}
	w.walk(card, 0)
	text := m.resolveMarkdown(strings.Join(w.lines, "\n"))
	if strings.TrimSpace(text) == "" {
		return unsupported("[card]")
	}
	return body{text: text}
}

type cardWords struct {
	lines []string
	size  int
}

func (w *cardWords) walk(v any, depth int) {
	if depth > maxCardDepth || w.size > maxCardText {
		return
	}
	switch v := v.(type) {
	case string:
		w.add(v, depth)
	case []any:
		for _, item := range v {
			w.walk(item, depth+1)
		}
	case map[string]any:
		for _, key := range cardKeys {
			if inner, ok := v[key]; ok {
				w.walk(inner, depth+1)
			}
		}
	}
}

// add takes a string, which may be a card again, encoded once more.
func (w *cardWords) add(s string, depth int) {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "{") {
		var inner any
		if json.Unmarshal([]byte(s), &inner) == nil {
			w.walk(inner, depth+1)
			return
		}
	}
	if s == "" || w.size+len(s) > maxCardText {
		return
	}
	w.size += len(s)
	w.lines = append(w.lines, s)
}
