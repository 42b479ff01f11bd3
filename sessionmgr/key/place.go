package key

import "github.com/chatkeep/chatkeep/models"

// Place is the group or thread whose messages a session holds. The account is empty where
// those of a channel share it.
type Place struct{ Channel, Account, ChatID string }

// Place returns where all messages of the session were written, if its key names one
// group or thread; false for direct chats and what joins several chats.
func (k Key) Place() (Place, bool) {
	parts, err := k.Parts()
	if err != nil {
		return Place{}, false
	}
	switch {
	case k.Scope == models.ScopePerPeer && len(parts) >= 4 && parts[2] == groupPart:
		return Place{parts[0], parts[1], parts[3]}, true
	case k.Scope == models.ScopePerChannelPeer && len(parts) >= 2 && parts[0] == groupPart:
		return Place{Channel: k.Channel, ChatID: parts[1]}, true
	case k.Scope == models.ScopePerAccountChannelPeer && len(parts) >= 3 && parts[1] == groupPart:
		return Place{k.Channel, parts[0], parts[2]}, true
	case k.Scope == models.ScopeThread && len(parts) == 3:
		return Place{k.Channel, parts[0], parts[1]}, true
	}
	return Place{}, false
}
