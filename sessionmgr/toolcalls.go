package sessionmgr

import (
	"encoding/json"
	"strings"

	"github.com/chatkeep/chatkeep/sessionmgr/prune"
)

// IsExecutableToolCallArgs reports whether a call can be run at all: its name is
// not blank, its arguments are a JSON value, and the tools "bash" and "skill"
// have the argument of theirs that says what to do.
func IsExecutableToolCallArgs(name, args string) bool {
	name = strings.TrimSpace(name)
	if name == "" || !json.Valid([]byte(args)) {
		return false
	}
	switch name {
	case "bash":
		return hasText(args, "command")
	case "skill":
		return hasText(args, "skill")
	}
	return true
}

// hasText reports whether args is an object in which field is a string, not blank.
func hasText(args, field string) bool {
	var object map[string]json.RawMessage
	var text string
	return json.Unmarshal([]byte(args), &object) == nil &&
		json.Unmarshal(object[field], &text) == nil &&
		strings.TrimSpace(text) != ""
}

// TruncateToolResult shortens a tool's result to at most limit characters: its
// head, a note with the original size, and its tail. Cuts are on rune boundaries;
// a limit of zero or less is none.
func TruncateToolResult(result string, limit int) string { return prune.Truncate(result, limit) }

// TruncateToolArguments shortens each string in a call's arguments that is the
// value of a large field (content, new_content, body, data, code, text, search,
// replace), at any depth, to at most limit characters, as [TruncateToolResult].
// Everything else stays byte for byte, and JSON stays JSON. Arguments that are no
// JSON and longer than limit become an object that holds the shortened text. A
// limit of zero or less is none.
func TruncateToolArguments(args string, limit int) string {
	return prune.TruncateArguments(args, limit)
}
