package config

// ChatOverride changes settings in one chat. Only what is present (not nil)
// overrides; a list that is present replaces the account's.
type ChatOverride struct {
	Agent        *string         `json:"agent,omitzero"`
	Scope        *ScopeOverride  `json:"scope,omitzero"`
	Group        *GroupOverride  `json:"group,omitzero"`
	Reply        *ReplyOverride  `json:"reply,omitzero"`
	Access       *AccessOverride `json:"access,omitzero"`
	Language     *Language       `json:"language,omitzero"`
	SystemPrompt *string         `json:"systemPrompt,omitzero"`
}

// ScopeOverride overrides parts of [Scope].
type ScopeOverride struct {
	Direct *ScopeType `json:"direct,omitzero"`
	Group  *ScopeType `json:"group,omitzero"`
	Thread *ScopeType `json:"thread,omitzero"`
}

// GroupOverride overrides parts of [Group].
type GroupOverride struct {
	RequireMention *bool        `json:"requireMention,omitzero"`
	IsolateMembers *bool        `json:"isolateMembers,omitzero"`
	Observe        *bool        `json:"observe,omitzero"`
	ReplyInThread  *ThreadReply `json:"replyInThread,omitzero"`
}

// ReplyOverride overrides parts of [Reply].
type ReplyOverride struct {
	Streaming   *Streaming `json:"streaming,omitzero"`
	WorkingSign *bool      `json:"workingSign,omitzero"`
	Mention     *bool      `json:"mention,omitzero"`
}

// AccessOverride overrides parts of [Access].
type AccessOverride struct {
	Direct     *AccessPolicy `json:"direct,omitzero"`
	Groups     *AccessPolicy `json:"groups,omitzero"`
	AllowUsers []string      `json:"allowUsers,omitzero"`
	DenyUsers  []string      `json:"denyUsers,omitzero"`
	AllowChats []string      `json:"allowChats,omitzero"`
	Admins     []string      `json:"admins,omitzero"`
}

// with returns s as changed by o; neither is modified.
func (s ChatSettings) with(o ChatOverride) ChatSettings {
	replace(&s.Agent, o.Agent)
	if o.Scope != nil {
		replace(&s.Scope.Direct, o.Scope.Direct)
		replace(&s.Scope.Group, o.Scope.Group)
		replace(&s.Scope.Thread, o.Scope.Thread)
	}
	if o.Group != nil {
		replace(&s.Group.RequireMention, o.Group.RequireMention)
		replace(&s.Group.IsolateMembers, o.Group.IsolateMembers)
		replace(&s.Group.Observe, o.Group.Observe)
		replace(&s.Group.ReplyInThread, o.Group.ReplyInThread)
	}
	if o.Reply != nil {
		replace(&s.Reply.Streaming, o.Reply.Streaming)
		replace(&s.Reply.WorkingSign, o.Reply.WorkingSign)
		replace(&s.Reply.Mention, o.Reply.Mention)
	}
	if o.Access != nil {
		replace(&s.Access.Direct, o.Access.Direct)
		replace(&s.Access.Groups, o.Access.Groups)
		replaceList(&s.Access.AllowUsers, o.Access.AllowUsers)
		replaceList(&s.Access.DenyUsers, o.Access.DenyUsers)
		replaceList(&s.Access.AllowChats, o.Access.AllowChats)
		replaceList(&s.Access.Admins, o.Access.Admins)
	}
	replace(&s.Language, o.Language)
	replace(&s.SystemPrompt, o.SystemPrompt)
	return s
}

func replace[T any](dst *T, value *T) {
	if value != nil {
		*dst = *value
	}
}

func replaceList(dst *[]string, value []string) {
	if value != nil {
		*dst = value
	}
}
