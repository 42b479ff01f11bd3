package store

import (
	"context"

	"github.com/chatkeep/chatkeep/models"
)

// Search finds messages by the words in them.
//
// There is no index of words: a call reads a bounded range of the messages
// themselves. So what was written is found at once, what was deleted never is, and
// writing costs nothing for it.
type Search interface {
	// SearchMessages returns a page of messages that have all words of the query, in
	// this order: sessions, newest first by creation; in each its slots, newest first; in
	// each its messages, newest first. Messages that were undone are left out, and so are
	// large attachments. A message that was copied into another slot is found in both.
	//
	// One call looks at no more than [MaxSearched] messages: a page may hold fewer items
	// than asked for, or none, although nextCursor is not empty. A session or slot that
	// is not there is [ErrNotFound]; a query without words, and a cursor that is none,
	// [ErrInvalid].
	SearchMessages(ctx context.Context, q MessageQuery) (items []FoundMessage, nextCursor string, err error)
}

// MaxSearched is how many messages one call of SearchMessages looks at.
const MaxSearched = 100_000

// MessageQuery selects messages. Empty fields but Words do not filter.
type MessageQuery struct {
	// Words must all be in the content, as words.Parse returns them.
	Words []string
	// SessionKey is the one session to look in.
	SessionKey string
	// Slot is one slot of it.
	Slot    string
	AgentID string
	Roles   []models.Role
	Limit   int
	Cursor  string
	// WithAsked fills in [FoundMessage.Asked].
	WithAsked bool
}

// AskedWithin is how many messages before an answer what it answers is looked for.
const AskedWithin = 1000

// FoundMessage is a message with the session that it is in.
type FoundMessage struct {
	SessionKey string
	Message    *models.SessionMessage
	// Asked is the newest message of a person before one that is nobody's, without
	// pictures; nil if there is none within [AskedWithin], or the query does not want it.
	Asked *models.SessionMessage
}
