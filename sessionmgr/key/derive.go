package key

import "github.com/chatkeep/chatkeep/models"

// ThreadParent as the thread scope keeps a thread in its chat's session.
const ThreadParent models.Scope = "parent"

// groupPart marks a peer that is a group. A person's id cannot meet it: a
// group's peer has a part more.
const groupPart = "group"

// Scopes chooses the scope per kind of chat. An empty field is the default.
type Scopes struct {
	Direct models.Scope // default per_peer
	Group  models.Scope // default per_peer
	Thread models.Scope // default thread; [ThreadParent] means the chat's own
}

// Request is what a chat message says about where it belongs.
type Request struct {
	AgentID string
	Channel string
	Account string
	// Direct is set for a chat with one person; else the chat is a group.
	Direct bool
	ChatID string
	// UserID is the id by which the platform knows the sender for good (Feishu:
	// open_id; DingTalk: senderStaffId, else senderId).
	UserID string
	// ThreadID is empty outside of threads and topics.
	ThreadID string
	Scopes   Scopes
	// IsolateMembers gives each member of a group a session of their own.
	IsolateMembers bool
	Identities     Identities
}

// Derive returns the key of the session that a chat message belongs to. What the
// scope needs and the message lacks is an [ErrInvalid], never a shared fallback.
func Derive(r Request) (Key, error) { return derive(r, r.scope()) }

// DeriveBackground returns the key under which what belongs to a whole chat is
// kept: as [Derive], without the member.
func DeriveBackground(r Request) (Key, error) {
	r.IsolateMembers = false
	return Derive(r)
}

// scope returns the scope that applies to the kind of chat.
func (r Request) scope() models.Scope {
	if r.ThreadID != "" {
		switch r.Scopes.Thread {
		case "":
			return models.ScopeThread
		case ThreadParent:
		default:
			return r.Scopes.Thread
		}
	}
	scope := r.Scopes.Group
	if r.Direct {
		scope = r.Scopes.Direct
	}
	if scope == "" {
		return models.ScopePerPeer
	}
	return scope
}

func derive(r Request, scope models.Scope) (Key, error) {
	if err := r.checkNames(); err != nil {
		return Key{}, err
	}
	switch scope {
	case models.ScopeMain:
		return newKey(r.AgentID, r.Channel, scope, mainScopeID)
	case models.ScopeThread:
		if err := checkIDs(field{"chat id", r.ChatID}, field{"thread id", r.ThreadID}); err != nil {
			return Key{}, err
		}
		return newKey(r.AgentID, r.Channel, scope, r.Account, r.ChatID, r.ThreadID)
	case models.ScopePerPeer, models.ScopePerChannelPeer, models.ScopePerAccountChannelPeer:
		return derivePeer(r, scope)
	}
	return Key{}, invalid("scope %q is not for chats", truncate(string(scope)))
}

func derivePeer(r Request, scope models.Scope) (Key, error) {
	peer, err := r.peer()
	if err != nil {
		return Key{}, err
	}
	parts := append(prefix(scope, r.Channel, r.Account), peer...)
	if scope == models.ScopePerPeer && r.Direct {
		if name, linked := r.Identities.Name(r.Channel, r.Account, r.UserID); linked {
			parts = []string{name}
		}
	}
	return newKey(r.AgentID, r.Channel, scope, parts...)
}

// peer is who shares the session: a person, a group, or a member of a group.
func (r Request) peer() ([]string, error) {
	if r.Direct {
		return []string{r.UserID}, checkID("user id", r.UserID)
	}
	if !r.IsolateMembers {
		return []string{groupPart, r.ChatID}, checkID("chat id", r.ChatID)
	}
	err := checkIDs(field{"chat id", r.ChatID}, field{"user id", r.UserID})
	return []string{groupPart, r.ChatID, r.UserID}, err
}

// prefix is what stands before the peer in a scopeId.
func prefix(scope models.Scope, channel, account string) []string {
	switch scope {
	case models.ScopePerPeer:
		return []string{channel, account}
	case models.ScopePerAccountChannelPeer, models.ScopeThread:
		return []string{account}
	}
	return nil
}

func (r Request) checkNames() error {
	if err := checkName("channel", r.Channel); err != nil {
		return err
	}
	if r.Channel == ChannelAny || r.Channel == ChannelTask {
		return invalid("channel %q is not a channel of messages", r.Channel)
	}
	return checkName("account", r.Account)
}

type field struct{ what, id string }

func checkIDs(fields ...field) error {
	for _, f := range fields {
		if err := checkID(f.what, f.id); err != nil {
			return err
		}
	}
	return nil
}
