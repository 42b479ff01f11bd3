package config

// ScopeType says who shares a session.
type ScopeType string

// The scope types a channel may choose from.
const (
	ScopeMain                  ScopeType = "main"
	ScopePerPeer               ScopeType = "per_peer"
	ScopePerChannelPeer        ScopeType = "per_channel_peer"
	ScopePerAccountChannelPeer ScopeType = "per_account_channel_peer"
	ScopeThread                ScopeType = "thread"
	ScopeParent                ScopeType = "parent" // threads only: the session of their chat
)

func (ScopeType) values() []string {
	return []string{"main", "per_peer", "per_channel_peer", "per_account_channel_peer", "thread", "parent"}
}

// Scope chooses the scope type per kind of chat.
type Scope struct {
	Direct ScopeType `json:"direct"`
	Group  ScopeType `json:"group"`
	Thread ScopeType `json:"thread"`
}

// ThreadReply says when an answer opens or joins a thread.
type ThreadReply string

// When to answer in a thread.
const (
	ThreadReplyAuto   ThreadReply = "auto" // only in threads and topics
	ThreadReplyAlways ThreadReply = "always"
	ThreadReplyNever  ThreadReply = "never"
)

func (ThreadReply) values() []string { return []string{"auto", "always", "never"} }

// Group is the behaviour in group chats.
type Group struct {
	RequireMention bool `json:"requireMention"`
	// IsolateMembers gives every member a session of their own.
	IsolateMembers bool `json:"isolateMembers"`
	// Observe keeps what is not addressed to the bot as background.
	Observe       bool        `json:"observe"`
	ReplyInThread ThreadReply `json:"replyInThread"`
}

// Streaming says whether answers are shown while they are written.
type Streaming string

// When to stream.
const (
	StreamingAuto Streaming = "auto" // wherever the platform can
	StreamingOff  Streaming = "off"
)

func (Streaming) values() []string { return []string{"auto", "off"} }

// Reply is the form of answers.
type Reply struct {
	Streaming   Streaming `json:"streaming"`
	WorkingSign bool      `json:"workingSign"`
	Mention     bool      `json:"mention"`
}

// AccessPolicy says who may talk to the bot.
type AccessPolicy string

// The access policies.
const (
	AccessOpen      AccessPolicy = "open"
	AccessAllowlist AccessPolicy = "allowlist"
	AccessPairing   AccessPolicy = "pairing"
	AccessDisabled  AccessPolicy = "disabled"
)

func (AccessPolicy) values() []string { return []string{"open", "allowlist", "pairing", "disabled"} }

// Access lists who may talk to the bot; ids are the platform's.
type Access struct {
	Direct     AccessPolicy `json:"direct"`
	Groups     AccessPolicy `json:"groups"`
	AllowUsers []string     `json:"allowUsers"`
	DenyUsers  []string     `json:"denyUsers"`
	AllowChats []string     `json:"allowChats"`
	Admins     []string     `json:"admins"`
}

// Language of the texts that are the gateway's own.
type Language string

// The languages.
const (
	LanguageAuto    Language = "auto"
	LanguageChinese Language = "zh"
	LanguageEnglish Language = "en"
)

func (Language) values() []string { return []string{"auto", "zh", "en"} }

// ChatSettings is what may differ from chat to chat. As part of an account it
// holds for all its chats.
type ChatSettings struct {
	Agent    string   `json:"agent"`
	Scope    Scope    `json:"scope"`
	Group    Group    `json:"group"`
	Reply    Reply    `json:"reply"`
	Access   Access   `json:"access"`
	Language Language `json:"language"`
	// SystemPrompt replaces the agent's if it is not empty.
	SystemPrompt string `json:"systemPrompt,omitzero"`
}

// DefaultChatSettings returns the settings of an account that says nothing;
// the agent is filled in once all agents are known.
func DefaultChatSettings() ChatSettings {
	return ChatSettings{
		Scope:    defaultScope(),
		Group:    Group{RequireMention: true, Observe: true, ReplyInThread: ThreadReplyAuto},
		Reply:    Reply{Streaming: StreamingAuto, WorkingSign: true, Mention: true},
		Access:   Access{Direct: AccessOpen, Groups: AccessOpen, AllowUsers: []string{}, DenyUsers: []string{}, AllowChats: []string{}, Admins: []string{}},
		Language: LanguageAuto,
	}
}

func defaultScope() Scope {
	return Scope{Direct: ScopePerPeer, Group: ScopePerPeer, Thread: ScopeThread}
}
