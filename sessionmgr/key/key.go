package key

import (
	"errors"
	"strings"

	"github.com/chatkeep/chatkeep/models"
)

// ErrInvalid is wrapped by the error for every key, id or request that cannot
// name a session; the error's text says what is wrong.
var ErrInvalid = errors.New("invalid session key")

// Channel segments that name no platform.
const (
	ChannelAny  = "any"  // scopes that join channels: main and per_peer
	ChannelTask = "task" // tasks that are delivered nowhere
	ChannelAPI  = "api"
	ChannelCLI  = "cli"
)

// mainScopeID is the scopeId of every session with scope main.
const mainScopeID = "main"

// maxParts is how many parts a scopeId of each scope has at most:
// {channel}/{account}/group/{chatId}/{userId} and what is left of it.
var maxParts = map[models.Scope]int{
	models.ScopeMain:                  1,
	models.ScopePerPeer:               5,
	models.ScopePerChannelPeer:        3,
	models.ScopePerAccountChannelPeer: 4,
	models.ScopeThread:                3,
	models.ScopeTask:                  2,
}

// Key names a session. Two keys are equal exactly when their strings are.
type Key struct {
	AgentID string
	// Channel is the channel segment: [ChannelAny] for main and per_peer.
	Channel string
	Scope   models.Scope
	// ScopeID is the last segment: escaped parts joined by '/'.
	ScopeID string
}

// String writes the key in its one canonical form.
func (k Key) String() string {
	return "agent:" + k.AgentID + ":channel:" + k.Channel + ":scope:" + string(k.Scope) + ":" + k.ScopeID
}

// Parts returns the unescaped parts of the scopeId.
func (k Key) Parts() ([]string, error) {
	parts := strings.Split(k.ScopeID, "/")
	for i, part := range parts {
		id, err := Unescape(part)
		if err != nil {
			return nil, err
		}
		parts[i] = id
	}
	return parts, nil
}

// Parse reads a key. It accepts exactly what [Key.String] writes for a valid key.
func Parse(s string) (Key, error) {
	if len(s) > models.MaxKey {
		return Key{}, invalid("%d bytes, at most %d are allowed", len(s), models.MaxKey)
	}
	seg := strings.Split(s, ":")
	if len(seg) != 7 || seg[0] != "agent" || seg[2] != "channel" || seg[4] != "scope" {
		return Key{}, invalid("want agent:{agentId}:channel:{channel}:scope:{scope}:{scopeId}")
	}
	k := Key{AgentID: seg[1], Channel: seg[3], Scope: models.Scope(seg[5]), ScopeID: seg[6]}
	if err := k.Validate(); err != nil {
		return Key{}, err
	}
	return k, nil
}

// Validate reports what keeps k from being a key, as an [ErrInvalid].
func (k Key) Validate() error {
	if err := checkName("agent id", k.AgentID); err != nil {
		return err
	}
	if !k.Scope.Valid() {
		return invalid("unknown scope %q", truncate(string(k.Scope)))
	}
	if err := checkName("channel", k.Channel); err != nil {
		return err
	}
	if err := k.checkSegment(); err != nil {
		return err
	}
	if k.Scope == models.ScopeMain && k.ScopeID != mainScopeID {
		return invalid("scopeId of scope main is %q", mainScopeID)
	}
	parts, err := k.Parts()
	if err != nil {
		return err
	}
	if most := maxParts[k.Scope]; len(parts) > most {
		return invalid("scopeId has %d parts, scope %s has at most %d", len(parts), k.Scope, most)
	}
	for _, part := range parts {
		if err := checkID("part of scopeId", part); err != nil {
			return err
		}
	}
	if n := len(k.String()); n > models.MaxKey {
		return invalid("%d bytes, at most %d are allowed", n, models.MaxKey)
	}
	return nil
}

// checkSegment makes sure that scopes that join channels, and only they, say so.
func (k Key) checkSegment() error {
	joins := k.Scope == models.ScopeMain || k.Scope == models.ScopePerPeer
	if joins != (k.Channel == ChannelAny) {
		return invalid("channel %q does not go with scope %s", k.Channel, k.Scope)
	}
	if k.Channel == ChannelTask && k.Scope != models.ScopeTask {
		return invalid("channel %q goes with scope task only", k.Channel)
	}
	return nil
}

// newKey joins unescaped parts to a checked key.
func newKey(agentID, channel string, scope models.Scope, parts ...string) (Key, error) {
	if scope == models.ScopeMain || scope == models.ScopePerPeer {
		channel = ChannelAny
	}
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = Escape(part)
	}
	k := Key{AgentID: agentID, Channel: channel, Scope: scope, ScopeID: strings.Join(escaped, "/")}
	if err := k.Validate(); err != nil {
		return Key{}, err
	}
	return k, nil
}
