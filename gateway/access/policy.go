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

// Verdict is what a policy says of somebody in a chat.
type Verdict string

// The verdicts.
const (
	Allowed Verdict = "allowed"
	Refused Verdict = "refused"
	// Unknown is who is allowed if an administrator approved the person or the chat.
	Unknown Verdict = "unknown"
)

// Judge says whether a person, known by any of the ids, may use the bot in the chat.
// Being denied wins over everything, being an administrator over the rest.
func (p Policy) Judge(direct bool, chatID string, userIDs ...string) Verdict {
	if p.Denies(userIDs...) {
		return Refused
	}
	if p.IsAdmin(userIDs...) {
		return Allowed
	}
	mode := p.Groups
	if direct {
		mode = p.Direct
	}
	named := matchAny(p.AllowUsers, userIDs) || !direct && matchAny(p.AllowChats, []string{chatID})
	switch {
	case mode == Disabled:
		return Refused
	case named, mode != Allowlist && mode != Pairing:
		return Allowed
	case mode == Pairing:
		return Unknown
	}
	return Refused
}

// Denies reports whether a person, known by any of the ids, is denied by name.
func (p Policy) Denies(userIDs ...string) bool { return matchAny(p.DenyUsers, userIDs) }

// Lenient reports whether the policy lets everybody in, wherever: nobody has to be
// looked at.
func (p Policy) Lenient() bool {
	open := func(m Mode) bool { return m != Allowlist && m != Pairing && m != Disabled }
	return open(p.Direct) && open(p.Groups) && len(p.DenyUsers) == 0
}

// IsAdmin reports whether a person, known by any of the ids, is an administrator.
func (p Policy) IsAdmin(userIDs ...string) bool { return matchAny(p.Admins, userIDs) }

func matchAny(patterns, ids []string) bool {
	for _, pattern := range patterns {
		for _, id := range ids {
			if id != "" && Match(pattern, id) {
				return true
			}
		}
	}
	return false
}

// Match compares id with a pattern in which `*` stands for anything.
func Match(pattern, id string) bool {
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
