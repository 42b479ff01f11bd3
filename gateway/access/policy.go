package access

import "strings"

// Mode says who may use the bot in a kind of chat.
type Mode string

// The modes.
const (
	Open      Mode = "open"      // everybody who is not denied
	Allowlist Mode = "allowlist" // only those who are named
	Pairing   Mode = "pairing"   // those who are named, or approved by an administrator
	Disabled  Mode = "disabled"  // nobody
)

// Policy is what an operator configured for an account or chat. Ids may hold `*`
// for any run of characters; all else is compared byte for byte.
type Policy struct {
	Direct     Mode
	Groups     Mode
	AllowUsers []string
	DenyUsers  []string
	AllowChats []string
	Admins     []string
}

// Allows reports whether a person, known by any of the ids, may use the bot in
// the chat. Being denied wins over everything, being an administrator over the rest.
func (p Policy) Allows(direct bool, chatID string, userIDs ...string) bool {
	if matchAny(p.DenyUsers, userIDs) {
		return false
	}
	if p.IsAdmin(userIDs...) {
		return true
	}
	mode := p.Groups
	if direct {
		mode = p.Direct
	}
	switch mode {
	case Allowlist, Pairing:
		return matchAny(p.AllowUsers, userIDs) || !direct && matchAny(p.AllowChats, []string{chatID})
	case Disabled:
		return false
	default:
		return true
	}
}

// IsAdmin reports whether a person, known by any of the ids, is an administrator.
func (p Policy) IsAdmin(userIDs ...string) bool { return matchAny(p.Admins, userIDs) }

func matchAny(patterns, ids []string) bool {
	for _, pattern := range patterns {
		for _, id := range ids {
			if id != "" && match(pattern, id) {
				return true
			}
		}
	}
	return false
}

// match compares id with a pattern in which `*` stands for anything.
func match(pattern, id string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == id
	}
	rest, ok := strings.CutPrefix(id, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, parts[last])
}
