package store

import (
	"context"
	"time"

	"github.com/chatkeep/chatkeep/models"
)

// Lifecycle moves sessions that nobody uses through their states, and finds slots
// for the jobs that shorten contexts.
//
// A session's use is its latest user message or, if it never had one, its creation.
// Pinned sessions are never archived and never expire. A session with a message
// that waits or runs is in use and left as it is. Batches bound what one call
// changes; what it costs depends on that and on how many sessions are in use, not
// on how many there are. The end of ctx ends a batch early: what was passed until
// then is returned beside the error.
type Lifecycle interface {
	// IdleSessions makes active sessions idle that were last used before a time.
	IdleSessions(ctx context.Context, before time.Time, batch int) (Passed, error)
	// ArchiveSessions archives idle and compacted sessions that were last used before a
	// time, and not restored since by [SessionTx].Update.
	ArchiveSessions(ctx context.Context, before time.Time, batch int) (Passed, error)
	// ExpireSessions deletes sessions that were last used before a time, as
	// [SessionTx].Delete does. One with an answer that is not sent yet is in use.
	ExpireSessions(ctx context.Context, before time.Time, batch int) (Passed, error)
	// SessionMark returns a token that changes with everything that belongs to a session,
	// or [ErrNotFound].
	SessionMark(ctx context.Context, key string) (string, error)
	// ExpireSession deletes one session as ExpireSessions does, unless it changed since it
	// had the mark. It reports whether it did.
	ExpireSession(ctx context.Context, key string, before time.Time, mark string) (bool, error)
	// MoveSession gives a session with all that belongs to it another key: that of to,
	// whose AgentID, Scope and ScopeID it takes over. [ErrNotFound] if it is not there,
	// [ErrExists] if the other one is, [ErrConflict] if either is in use: it has a message
	// without an outcome, or an answer that is not sent yet. A dry run finds out and changes
	// nothing.
	MoveSession(ctx context.Context, from string, to *models.Session, dryRun bool) error
	// DueSessions returns the keys of sessions that a step would change, at most limit
	// (1000): for a dry run, and for whoever exports sessions before they expire.
	DueSessions(ctx context.Context, step Step, before time.Time, limit int) ([]string, error)
	// CompactCandidates returns slots that compaction may act on whose context has at
	// least so many tokens and messages, in no meaningful order. after is the cursor that
	// an earlier call returned, "" at first; next is "" on the last page. Slots of
	// sessions in use are left out.
	CompactCandidates(ctx context.Context, minTokens, minMessages int, after string, limit int) (slots []SlotSize, next string, err error)
	// PruneCandidates returns slots that got at least so many messages since they were
	// last marked as pruned (see [ContextTx].MarkPruned), page by page as CompactCandidates.
	PruneCandidates(ctx context.Context, minMessages int, after string, limit int) (slots []SlotSize, next string, err error)
}

// Step is a transition that time brings about.
type Step string

// The steps.
const (
	StepIdle    Step = "idle"
	StepArchive Step = "archive"
	StepExpire  Step = "expire"
)

// Passed is what one batch came to. Considered is Changed and Skipped together.
type Passed struct {
	Considered int `json:"considered"`
	Changed    int `json:"changed"`
	Skipped    int `json:"skipped"`
	// InUse are those of Skipped that had a message waiting or running; the others
	// were used, pinned or changed in between.
	InUse int `json:"inUse"`
}

// Add returns the sum of both.
func (p Passed) Add(q Passed) Passed {
	return Passed{p.Considered + q.Considered, p.Changed + q.Changed, p.Skipped + q.Skipped, p.InUse + q.InUse}
}

// SlotSize is a slot with the size of its context: the latest summary and what
// follows the compaction.
type SlotSize struct {
	SessionKey string
	AgentID    string
	Slot       string
	Messages   int
	Tokens     int
}

// Jobs keeps the record of each job's last run.
type Jobs interface {
	// SaveJobRun replaces the record of the job's last run, unless that one started later.
	// A run is saved when it starts, and again when it is finished.
	SaveJobRun(ctx context.Context, run *JobRun) error
	// JobRuns returns the last run of every job that ran, by name.
	JobRuns(ctx context.Context) ([]*JobRun, error)
}

// JobRun is one run of a job.
type JobRun struct {
	Job        string    `json:"-"`
	StartedAt  time.Time `json:"startedAt"`
	FinishedAt time.Time `json:"finishedAt"` // zero: it runs, or its process died
	Considered int       `json:"considered"`
	Changed    int       `json:"changed"`
	Skipped    int       `json:"skipped"`
	// Reasons counts why sessions were skipped.
	Reasons map[string]int `json:"reasons,omitempty"`
	// Error is one line, empty if the run succeeded.
	Error string `json:"error"`
}
