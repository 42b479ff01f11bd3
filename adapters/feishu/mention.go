package feishu

import (
	"regexp"
	"slices"
	"strings"
)

// allKey is how "everyone" is written; it is nobody's mention.
const allKey = "@_all"

// maxName is the longest name that is shown, in characters.
const maxName = 100

// mentions turns the placeholders of a message into names.
type mentions struct {
	replacer *strings.Replacer
	byKey    map[string]string
	// self is set if the bot itself is mentioned.
	self bool
}

// newMentions prepares the mentions of a message. self is the bot's open_id, empty
// while it is unknown: then nobody counts as the bot.
func newMentions(list []mention, self string) *mentions {
	m := &mentions{byKey: map[string]string{allKey: "@all", "all": "@all"}}
	list = slices.Clone(list)
	// "@_user_1" begins "@_user_10".
	slices.SortStableFunc(list, func(a, b mention) int { return len(b.Key) - len(a.Key) })
	var pairs []string
	for _, at := range list {
		if at.Key == "" || at.Key == allKey {
			continue
		}
		name := "@" + clip(at.Name, maxName)
		if at.Name == "" {
			name = "@someone"
		}
		if self != "" && at.ID.OpenID == self {
			m.self = true
			name = ""
			pairs = append(pairs, at.Key+" ", "", at.Key+"\u00a0", "")
		}
		pairs = append(pairs, at.Key, name)
		m.byKey[at.Key] = name
		if at.ID.OpenID != "" {
			m.byKey[at.ID.OpenID] = name
		}
	}
	m.replacer = strings.NewReplacer(append(pairs, allKey, "@all")...)
	return m
}

// name returns how the person behind a key or id is written.
func (m *mentions) name(key, fallback string) string {
	if name, ok := m.byKey[key]; ok {
		return name
	}
	if fallback != "" {
		return "@" + strings.TrimPrefix(fallback, "@")
	}
	return "@someone"
}

var atTag = regexp.MustCompile(`<at\s+(?:user_id|id)=["']?([^"'>\s]+)["']?\s*>([^<]*)</at>`)

// resolve replaces placeholders in plain text.
func (m *mentions) resolve(text string) string { return m.replacer.Replace(text) }

// resolveMarkdown replaces placeholders and at tags in Markdown.
func (m *mentions) resolveMarkdown(text string) string {
	text = atTag.ReplaceAllStringFunc(text, func(tag string) string {
		parts := atTag.FindStringSubmatch(tag)
		return m.name(parts[1], parts[2])
	})
	return m.resolve(text)
}
