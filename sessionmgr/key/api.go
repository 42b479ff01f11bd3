package key

import (
	"errors"
	"fmt"
	"slices"

	"github.com/chatkeep/chatkeep/models"
)

// ErrScopeNotAllowed is returned for a scope that joins accounts and that the
// account does not let its callers ask for.
var ErrScopeNotAllowed = errors.New("scope is not allowed")

// APIRequest is a message on the API channel, whose caller may choose scope and
// scopeId.
type APIRequest struct {
	Request
	// Scope overrides the account's scope when not empty.
	Scope models.Scope
	// ScopeID is one id that takes the peer's or thread's place when not empty.
	ScopeID string
	// AllowScopes names the joining scopes that callers may ask for.
	AllowScopes []models.Scope
}

// DeriveAPI returns the key for a message on the API channel. What a caller
// names stays below the account, unless the account allows more
// ([ErrScopeNotAllowed]). A scopeId names a peer as userId does: both spell the
// same session.
func DeriveAPI(r APIRequest) (Key, error) {
	scope := r.Scope
	switch scope {
	case "":
		scope = r.scope()
	case models.ScopeMain, models.ScopePerChannelPeer:
		if !slices.Contains(r.AllowScopes, scope) {
			return Key{}, fmt.Errorf("%w: %s joins accounts", ErrScopeNotAllowed, scope)
		}
	}
	if r.ScopeID == "" {
		return derive(r.Request, scope)
	}
	if err := r.checkNames(); err != nil {
		return Key{}, err
	}
	switch scope {
	case models.ScopeMain:
		if r.ScopeID != mainScopeID {
			return Key{}, invalid("scope main takes no scopeId")
		}
		return newKey(r.AgentID, r.Channel, scope, mainScopeID)
	case models.ScopePerPeer, models.ScopePerChannelPeer, models.ScopePerAccountChannelPeer, models.ScopeThread:
		if err := checkID("scopeId", r.ScopeID); err != nil {
			return Key{}, err
		}
		parts := append(prefix(scope, r.Channel, r.Account), r.ScopeID)
		return newKey(r.AgentID, r.Channel, scope, parts...)
	}
	return Key{}, invalid("scope %q is not for chats", truncate(string(scope)))
}
