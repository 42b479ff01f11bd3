package key

import (
	"strings"

	"github.com/chatkeep/chatkeep/models"
)

// Background returns the key under which is kept what belongs to a whole chat
// ([DeriveBackground]): for a member's own session in a group the group's, for every
// other one its own.
func (k Key) Background() Key {
	parts := strings.Split(k.ScopeID, "/")
	switch k.Scope {
	case models.ScopePerPeer, models.ScopePerChannelPeer, models.ScopePerAccountChannelPeer:
		n := len(parts)
		if n == maxParts[k.Scope] && parts[n-3] == groupPart {
			k.ScopeID = strings.Join(parts[:n-1], "/")
		}
	case models.ScopeMain, models.ScopeThread, models.ScopeTask:
	}
	return k
}
