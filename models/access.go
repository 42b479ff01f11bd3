package models

import "time"

// AccessKind is whom a grant of access is for.
type AccessKind string

// The kinds of subjects.
const (
	AccessUser AccessKind = "user"
	AccessChat AccessKind = "chat" // a group
)

// AccessState says how a request for access stands.
type AccessState string

// The states of a request.
const (
	AccessPending  AccessState = "pending"
	AccessApproved AccessState = "approved"
	AccessDenied   AccessState = "denied"
)

// Valid reports whether s is one of the states.
func (s AccessState) Valid() bool {
	return s == AccessPending || s == AccessApproved || s == AccessDenied
}

// AccessSubject names somebody, or a group, on one account of a channel.
type AccessSubject struct {
	Channel string     `json:"channel"`
	Account string     `json:"account"`
	Kind    AccessKind `json:"kind"`
	// SubjectID is the platform's id of the person or group.
	SubjectID string `json:"subjectId"`
}

// AccessGrant is a request to be let in, and what an administrator decided on it.
type AccessGrant struct {
	ID string `json:"id"`
	AccessSubject
	// Code names the request while it is pending; empty afterwards.
	Code string `json:"code"`
	// Name is what the platform calls the subject; may be empty.
	Name string `json:"name"`
	// UserID is who asked, ChatID where.
	UserID string      `json:"userId"`
	ChatID string      `json:"chatId"`
	State  AccessState `json:"state"`
	// Language is what the person is spoken to in.
	Language    string     `json:"-"`
	RequestedAt time.Time  `json:"requestedAt"`
	ExpiresAt   time.Time  `json:"expiresAt"`
	DecidedAt   *time.Time `json:"decidedAt"`
	// DecidedBy names the administrator: channel/account/id, or "admin" for the API.
	DecidedBy string `json:"decidedBy"`
}
