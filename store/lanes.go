package store

import (
	"context"
	"time"

	"github.com/chatkeep/chatkeep/models"
)

// Claim is the right to run a session's turns, until the lease ends.
type Claim struct {
	SessionKey string
	// Fence rises with every claim; only the newest may commit.
	Fence int64
	// Attempts counts claims since the last commit, this one included: more than
	// one means that a process died or lost its lease in the meantime.
	Attempts int
}

// Lanes order the turns of a session and lease them to replicas.
type Lanes interface {
	// ClaimLanes claims up to limit lanes of the kind that are due, the longest due first.
	ClaimLanes(ctx context.Context, c ClaimRequest, limit int) ([]Claim, error)
	// ClaimLane claims one lane if it is due, for a process that serves only its own
	// session; nil if it is not due.
	ClaimLane(ctx context.Context, c ClaimRequest, sessionKey string) (*Claim, error)
	// RenewLanes extends leases and returns those claims that are lost.
	RenewLanes(ctx context.Context, claims []Claim, lease time.Duration) (lost []Claim, err error)
	// BeginTurn takes the next message of a claimed lane, and those that may be
	// merged with it, and marks them running. It returns nil if nothing waits, the
	// lane then being idle again; [ErrLeaseLost] if the claim is not the newest.
	// Messages that were running when their process died are taken again.
	BeginTurn(ctx context.Context, c Claim, m MergeRule) (*Turn, error)
	// ReleaseLane hands a lane back before its turn committed; the attempt does not
	// count, running messages wait again, and the lane is due after delay.
	ReleaseLane(ctx context.Context, c Claim, delay time.Duration) error
	// SaveSign stores what is needed to take a message's working sign back.
	SaveSign(ctx context.Context, inboundID, sign string) error
	// StoppedTurns returns the ids of those messages that are no longer running. One
	// query; at most 1000 ids.
	StoppedTurns(ctx context.Context, inboundIDs []string) ([]string, error)
}

// MergeRule says which waiting messages are answered together.
type MergeRule struct {
	// Merge allows it at all: messages of one sender, slot and epoch that directly
	// follow one another, none of them awaited, each within Debounce of the one before.
	Merge    bool
	Debounce time.Duration
	// Same says whether two such messages go to the same place (chat and thread),
	// which a store does not know; it must be pure. Nil: they do.
	Same func(before, next *models.Inbound) bool
}

// Turn is what a claimed lane has to do next.
type Turn struct {
	Claim Claim
	// Inbounds are answered together; the first is the one the answer belongs to.
	Inbounds []*models.Inbound
	// Interrupted are messages that the first one replaced, oldest first; their text comes
	// before it. Those that were cancelled since are left out.
	Interrupted []*models.Inbound
}

// Turns commits what a turn came to.
type Turns interface {
	// CommitTurn stores everything about a finished turn in one transaction: its
	// messages, the session's counters (and the session itself, if it is new), the
	// outcome of its inbound messages, its deliveries; and releases the lane or keeps
	// it for the next message. [ErrLeaseLost] and [ErrStopped] leave everything as it was.
	// Running it again after an error whose outcome is unknown is safe: a turn that did
	// commit is recognised by its inbound message and fence.
	CommitTurn(ctx context.Context, t *TurnCommit) (*TurnCommitted, error)
}

// TurnCommit is the result of a turn.
type TurnCommit struct {
	Claim Claim
	// Session describes the session for when it does not exist yet, and its latest
	// channel and account.
	Session models.Session
	// Inbounds are the messages of the turn; the first is answered, the others are
	// merged into it.
	Inbounds []*models.Inbound
	Outcome  Outcome
	// Slot receives the messages; it must exist, or be the default slot.
	Slot string
	// Messages are appended together; none for an outcome other than done.
	Messages []*models.SessionMessage
	// Forms are those in which earlier messages of the slot were shown for the first
	// time, as for [ContextTx].Freeze.
	Forms []PrunedForm
	// Approvals are calls that the turn made and that wait for a person.
	Approvals []*models.Approval
	// Deliveries go out in this order. Those to a pulling channel (State delivered)
	// are stored as they are.
	Deliveries []*models.Delivery
	// ClosePreviews closes the stream cards that earlier attempts left open and that no
	// delivery finishes; a turn that has looked for its card itself does not need it.
	ClosePreviews bool
	// Remember, when set, is the session that the deliveries' texts are appended to as
	// they are delivered, as for [Outbox].Enqueue.
	Remember *models.Session
	// ClaimTarget asks for the deliveries' target if it is idle; the first delivery is then sending.
	ClaimTarget *ClaimRequest
	// Keep asks to keep the lane if another message waits, for so long; zero: release it.
	Keep time.Duration
	// ObservedThrough is the place of the last observed message that the turn took in; zero: none.
	ObservedThrough int64
	// UserAt is when the person wrote; zero leaves the session's idleness as it is.
	UserAt time.Time
	// ModelAt is when the model was last called; zero: it was not.
	ModelAt time.Time
	// ShownFrom is the first message of the slot that the model was shown behind the system
	// part: one of Messages, or an earlier one with its Seq. Nil: the next context does not
	// go on from there. ResultsFrom is as in [SessionContext].
	ShownFrom   *models.SessionMessage
	ResultsFrom int64
	// Usage is what the turn cost, to be summed up later; nil: nothing.
	Usage *UsageEntry
	// Spend counts against budgets at once.
	Spend []Spending
	// Now is the time of the commit.
	Now time.Time
}

// Outcome is how an inbound message ends.
type Outcome struct {
	State        models.InboundState
	Code         models.ErrorCode
	Error        string
	FinishReason string
	Reply        *models.Reply
	// Erase takes a message back for good: its text is erased, so that it cannot run
	// again. Only with [SessionTx].Finish; it then also ends what is observed, or was
	// superseded and is not to be shown to a later turn ([Turn].Interrupted).
	Erase bool
}

// TurnCommitted is what a commit came to.
type TurnCommitted struct {
	// Waiting is set if another message waits in the lane.
	Waiting bool
	// Kept is the renewed claim if the lane was kept.
	Kept *Claim
	// Target is set if the deliveries' target is now the caller's, with its first delivery sending.
	Target *TargetClaim
	First  *models.Delivery
}
