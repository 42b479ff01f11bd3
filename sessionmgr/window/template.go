package window

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Values fill the placeholders of a system prompt.
type Values struct {
	Now        string // {{now}}
	ChatName   string // {{chat.name}}
	SenderName string // {{sender.name}}
	// Variables are the session's, as JSON values: {{var.NAME}}.
	Variables map[string]json.RawMessage
}

var placeholder = regexp.MustCompile(`\{\{\s*(now|chat\.name|sender\.name|var\.[^{}\s]+)\s*\}\}`)

// Template fills the placeholders of a system prompt in one pass: what is
// inserted is never looked at again. Names are cleaned, a variable that is not
// set is empty, and any other text in braces stays.
func Template(prompt string, v Values) string {
	return placeholder.ReplaceAllStringFunc(prompt, func(match string) string {
		switch name := placeholder.FindStringSubmatch(match)[1]; name {
		case "now":
			return v.Now
		case "chat.name":
			return CleanName(v.ChatName)
		case "sender.name":
			return CleanName(v.SenderName)
		default:
			return variableText(v.Variables[strings.TrimPrefix(name, "var.")])
		}
	})
}

// variableText is a JSON string's text, or any other value as JSON.
func variableText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}
