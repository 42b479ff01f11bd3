package key

import "github.com/chatkeep/chatkeep/models"

// CallerRequest is what a Go program says about the session it wants. Unlike
// [Request] it knows no kind of chat.
type CallerRequest struct {
	AgentID string
	Channel string
	Account string
	Scope   models.Scope // default per_peer
	// ScopeID is the last segment of the key, in its escaped form, when not empty.
	ScopeID  string
	ChatID   string
	ThreadID string
	UserID   string
}

// DeriveCaller returns the key for a Go program's request. A given ScopeID is
// taken as it is. Without one the scope's table applies, with the chat as the
// peer before the user; where the request has none of the ids that the table
// names, the first present of chat, thread and user stands in. No id at all is
// an [ErrInvalid]. An account that is not given has no part in the key.
func DeriveCaller(r CallerRequest) (Key, error) {
	scope := r.Scope
	if scope == "" {
		scope = models.ScopePerPeer
	}
	if err := r.checkNames(); err != nil {
		return Key{}, err
	}
	k := Key{AgentID: r.AgentID, Channel: r.segment(scope), Scope: scope, ScopeID: r.ScopeID}
	if scope == models.ScopeMain && r.ScopeID == "" {
		k.ScopeID = mainScopeID
	}
	if k.ScopeID != "" {
		if err := k.Validate(); err != nil {
			return Key{}, err
		}
		return k, nil
	}
	ids, err := r.ids(scope)
	if err != nil {
		return Key{}, err
	}
	if scope == models.ScopePerPeer && r.Channel == "" {
		return Key{}, invalid("scope %s needs a channel or a scopeId", scope)
	}
	return newKey(k.AgentID, k.Channel, scope, append(present(prefix(scope, r.Channel, r.Account)...), ids...)...)
}

func (r CallerRequest) segment(scope models.Scope) string {
	switch {
	case scope == models.ScopeMain || scope == models.ScopePerPeer:
		return ChannelAny
	case scope == models.ScopeTask && r.Channel == "":
		return ChannelTask
	}
	return r.Channel
}

// ids are the parts of the scopeId that name a chat, a thread or a person.
func (r CallerRequest) ids(scope models.Scope) ([]string, error) {
	var ids []string
	switch scope {
	case models.ScopeThread:
		ids = present(r.ChatID, r.ThreadID)
	case models.ScopeTask:
	default:
		ids = first(r.ChatID, r.UserID)
	}
	if len(ids) == 0 {
		ids = first(r.ChatID, r.ThreadID, r.UserID)
	}
	if len(ids) == 0 {
		return nil, invalid("scope %s needs a scopeId, chat id, thread id or user id", truncate(string(scope)))
	}
	return ids, nil
}

// checkNames checks the names that are given; a session keeps them.
func (r CallerRequest) checkNames() error {
	if r.Channel != "" {
		if err := checkName("channel", r.Channel); err != nil {
			return err
		}
	}
	if r.Account != "" {
		return checkName("account", r.Account)
	}
	return nil
}

// present returns the strings that are not empty.
func present(all ...string) []string {
	var out []string
	for _, s := range all {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// first returns the first string that is not empty, alone.
func first(all ...string) []string {
	some := present(all...)
	return some[:min(1, len(some))]
}
