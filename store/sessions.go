package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/chatkeep/chatkeep/models"
)

// Sessions reads and changes sessions.
type Sessions interface {
	// Session returns a session without its messages, or [ErrNotFound].
	Session(ctx context.Context, key string) (*models.Session, error)
	// ListSessions returns a page, newest first by creation, never with messages. It
	// touches a bounded range of one index whatever the filter: a page may hold fewer
	// items than asked for although nextCursor is not empty.
	ListSessions(ctx context.Context, q SessionQuery) (items []*models.Session, nextCursor string, err error)
	// CreateSession stores a new session with its default slot; [ErrExists] if it is there.
	CreateSession(ctx context.Context, s *models.Session) error
	// AppendMessages adds messages to the session's current slot (or to the one they
	// name) in one transaction, all or none, and sets their Seq and Slot.
	AppendMessages(ctx context.Context, key string, messages []*models.SessionMessage) error
	// ChangeSession runs change under the lane's lock and commits all of it or nothing.
	// change may be run more than once and must have no effect but through tx. The
	// session need not exist.
	ChangeSession(ctx context.Context, key string, change func(tx SessionTx) error) error
	// ChangeSessions is ChangeSession for several sessions in one transaction, in no
	// meaningful order. Those to which nothing was ever said or done are left out; an error
	// of change ends them all.
	ChangeSessions(ctx context.Context, keys []string, change func(key string, tx SessionTx) error) error
	// EraseDeleted removes at most batch rows of each kind that belonged to deleted
	// sessions (deletion makes them unreadable at once; this removes the bytes) and
	// reports whether none are left.
	EraseDeleted(ctx context.Context, batch int) (done bool, err error)
}

// SessionTx is a session, locked.
type SessionTx interface {
	TasksTx
	NotebookTx
	ContextTx
	AccessTx
	UsageTx
	ApprovalsTx

	// Session returns the session as it is now, or [ErrNotFound].
	Session() (*models.Session, error)
	// CurrentSlot is the slot that new messages are bound to.
	CurrentSlot() string
	// Pending returns the messages without an outcome, in order, running ones included,
	// commands left out unless they are deferred.
	Pending() ([]*models.Inbound, error)
	// FirstCommand returns the first command without an outcome, or [ErrNotFound]. Commands
	// of a session run in the order of their places.
	FirstCommand() (*models.Inbound, error)
	// Defer takes a command that has no outcome yet out of that order: what it asked for
	// takes time, and goes on about a slot, under a lease of its own. [ErrConflict] if it
	// has its outcome.
	Defer(id, slot string, c ClaimRequest) error
	// LastPlace is the newest place in the order of a session, this one or another; zero if
	// nothing was ever said there.
	LastPlace(key string) (int64, error)
	// Finish gives messages without an outcome (waiting or running, commands too) theirs,
	// and returns [ErrConflict] if one of them has it already; a turn that runs one of them can
	// no longer commit. A stream card that one of them has open is closed by a delivery.
	Finish(ids []string, o Outcome, now time.Time) error
	// Rebind binds messages that wait or run to a slot and to the session as it is now. One
	// that runs waits again, at its place: its turn can no longer commit. [ErrConflict] if
	// one of them has its outcome.
	Rebind(ids []string, slot string) error
	// Requeue makes a failed, dead or cancelled message wait again; [ErrConflict] otherwise,
	// and for one whose text was erased.
	Requeue(id string, now time.Time) error
	// LastRetryable returns the last message of an account's sender that failed or was
	// cancelled and can run again, or command that a budget refused, or [ErrNotFound]. It does not look back beyond the
	// newest few hundred messages.
	LastRetryable(channel, account, senderID string) (*models.Inbound, error)
	// Update stores title, model, system prompt, pinned and state.
	Update(s *models.Session, now time.Time) error
	// Use notes that a person used the session now, which makes it active, and returns the
	// state it was in; [ErrNotFound] if it is not there.
	Use(now time.Time) (models.SessionState, error)
	// Create makes the session if it is not there.
	Create(s *models.Session) error
	// Reset gives a slot a new, empty context; the old one can be restored until it is swept.
	// Talk that was observed belongs to the old context up to and including the place
	// observed, which is one in the lane that the session's turns read it from.
	Reset(slot string, observed int64, now time.Time) error
	// Restore brings back what the latest reset of a slot set aside, or with no slot that of
	// whichever was reset last; [ErrNotFound] if nothing was. For observed see Reset; as
	// with it, a running turn can no longer commit.
	Restore(slot string, observed int64, now time.Time) error
	// Delete makes the session and all that belongs to it unreadable; pending messages
	// become superseded and unsent deliveries failed.
	Delete(now time.Time) error
	// Slots returns the slots, oldest first.
	Slots() ([]*models.ContextSlot, error)
	// CreateSlot adds an empty slot; [ErrExists] if it is there.
	CreateSlot(s *models.ContextSlot) error
	// UpdateSlot stores mode, focus, budget and compact.
	UpdateSlot(s *models.ContextSlot) error
	// DeriveSlot adds a slot with a copy of the newest messages of its parent, by one
	// statement: all of them, or those that a focus shows.
	DeriveSlot(s *models.ContextSlot, parent string) error
	// SwitchSlot makes a slot current; [ErrNotFound] if it is not there.
	SwitchSlot(slot string) error
	// DeleteSlot removes a slot; deleting the current one makes the default slot current.
	// [ErrConflict] for the default slot.
	DeleteSlot(slot string, now time.Time) error
	// LastTurn returns the messages that the last turn of a slot answered, without their
	// payloads; none if they are no longer kept, or a turn of nobody's. [ErrNotFound] if
	// there is no turn.
	LastTurn(slot string) ([]*models.Inbound, error)
	// UndoTurn sets the last turn of a slot aside from the context; nothing is deleted.
	// What a summary stands for is not undone.
	// [ErrNotFound] if there is none.
	UndoTurn(slot string, now time.Time) error
	// Append adds messages to a slot.
	Append(slot string, messages []*models.SessionMessage, now time.Time) error
	// Deliver adds deliveries.
	Deliver(deliveries []*models.Delivery) error
}

// SessionQuery selects sessions. Empty fields do not filter.
type SessionQuery struct {
	AgentID string
	Channel string
	Scope   models.Scope
	State   models.SessionState
	// Text is looked for in key and title.
	Text   string
	Limit  int
	Cursor string
	// Offset skips so many items; for callers without a cursor.
	Offset int
}

// History reads messages.
type History interface {
	// Messages returns the newest limit messages of a slot with a seq below before
	// (zero: no bound), oldest first. An unknown session or slot is [ErrNotFound].
	// Messages that were undone are left out.
	Messages(ctx context.Context, key, slot string, before int64, limit int) ([]*models.SessionMessage, error)
	// LoadContext reads what a turn needs. A session that does not exist yet gives an
	// empty context.
	LoadContext(ctx context.Context, key, slot string, limit int) (*SessionContext, error)
	// Generation is [SessionContext].Generation alone; [ErrNotFound] for an unknown session
	// or slot.
	Generation(ctx context.Context, key, slot string) (int64, error)
	// TurnMessages returns the messages that a turn committed, oldest first, or [ErrNotFound].
	TurnMessages(ctx context.Context, inboundID string) ([]*models.SessionMessage, error)
}

// FirstSystemRange bounds the search for the system message that a slot begins with.
const FirstSystemRange = 2000

// SessionContext is the stored state that a turn starts from.
type SessionContext struct {
	// Session is nil if it does not exist yet.
	Session *models.Session
	// Slot is nil if it does not exist (yet).
	Slot *models.ContextSlot
	// Messages are the newest of those that follow the slot's compaction, oldest first,
	// without summaries. The pictures of all but the newest, some six megabytes of them,
	// are left out ([models.SessionMessage].ImagesOmitted).
	Messages []*models.SessionMessage
	// Summary is the slot's latest summary; nil if it was never compacted.
	Summary *models.SessionMessage
	// FirstSystem is the first system message of a focused slot that keeps it, summaries
	// apart, where it lies before Messages; else nil. It is looked for among the oldest
	// [FirstSystemRange] that are stored.
	FirstSystem *models.SessionMessage
	// Forms are how some of Messages are shown, by seq.
	Forms map[int64]PrunedForm
	// LiveMessages and LiveTokens are the size of the slot's context as in [SlotSize],
	// however many of its messages were read.
	LiveMessages int
	LiveTokens   int
	// MergedThrough is the last message that came from the slot's parent, or was merged
	// into another slot; zero: none.
	MergedThrough int64
	// Generation is to be passed to [ContextTx].Compact.
	Generation int64
	// NextSeq is the seq of the slot's next message.
	NextSeq int64
	// Notes are the newest [ContextNotes], newest first; Variables are all.
	Notes     []*models.Note
	Variables map[string]json.RawMessage
	// ModelAt is when the session last called a model; zero: never.
	ModelAt time.Time
	// ShownFrom is the seq of the first message of the slot that a model was last shown,
	// for contexts that are to begin with the same bytes; zero if that is not known, or was
	// another model, or the slot begins differently now: its settings, the session's prompt
	// or a summary changed, it was emptied, or the message was undone. Of calls with a seq
	// below ResultsFrom the results were not shown.
	ShownFrom   int64
	ResultsFrom int64
	// ObservedSeq is the place of the last observed message that a turn took in.
	ObservedSeq int64
}
