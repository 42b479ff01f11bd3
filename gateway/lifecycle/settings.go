package lifecycle

import (
	"errors"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/store"
)

// The jobs.
const (
	Prune   = "prune"
	Compact = "compact"
	Idle    = "idle"
	Archive = "archive"
	Expire  = "expire"
)

// What a run that was asked for may fail with.
var (
	ErrUnknownJob = errors.New("lifecycle: no such job")
	ErrRunning    = errors.New("lifecycle: the job is running")
)

// Settings may be replaced at any time.
type Settings struct {
	// Schedules are the specs of the jobs by name: 5 cron fields in Location (nil: UTC), or
	// @every. A job without one runs only when it is asked to.
	Schedules map[string]string
	Location  *time.Location
	// IdleTimeout counts from the last user input, ArchiveAfter from there on, TTL from
	// the last use. Zero turns the step off.
	IdleTimeout  time.Duration
	ArchiveAfter time.Duration
	TTL          time.Duration
	// ExportDir is where sessions are written, and read back, before they expire; empty:
	// nowhere.
	ExportDir string
}

// View is a job as operators see it.
type View struct {
	Name     string `json:"name"`
	Schedule string `json:"schedule"`
	// Off says why the job does nothing; empty: it does.
	Off string `json:"off"`
	// NextRunAt is null for a job that does not run by itself.
	NextRunAt *time.Time `json:"nextRunAt"`
	// LastRun is null for a job that never ran.
	LastRun *Run `json:"lastRun"`
}

// Run is one run of a job.
type Run struct {
	StartedAt time.Time `json:"startedAt"`
	// FinishedAt is null while it runs, and for good if its process died.
	FinishedAt *time.Time `json:"finishedAt"`
	Considered int        `json:"considered"`
	Changed    int        `json:"changed"`
	Skipped    int        `json:"skipped"`
	// Reasons counts why they were skipped.
	Reasons map[string]int `json:"reasons"`
	// Error is one line, empty if there is none.
	Error string `json:"error"`
}

// Report is what a run came to, or would.
type Report struct {
	Run

	Name   string `json:"name"`
	DryRun bool   `json:"dryRun"`
	// Off is as in [View].
	Off string `json:"off"`
	// More is set if time was up, or a dry run had seen enough, before the end.
	More bool `json:"more"`
	// Sessions are some that a dry run would change.
	Sessions []string `json:"sessions,omitempty"`
}

// Reasons why something is skipped.
const (
	reasonInUse   = "in use"
	reasonChanged = "changed meanwhile"
	reasonExport  = "not exported"
)

// tally counts what a run does. It is safe for concurrent use.
type tally struct {
	mu                           sync.Mutex
	considered, changed, skipped int
	reasons                      map[string]int
}

func (t *tally) change(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.considered, t.changed = t.considered+n, t.changed+n
}

func (t *tally) skip(reason string, n int) {
	if n == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reasons == nil {
		t.reasons = map[string]int{}
	}
	t.considered, t.skipped = t.considered+n, t.skipped+n
	t.reasons[reason] += n
}

func (t *tally) add(p store.Passed) {
	t.change(p.Changed)
	t.skip(reasonInUse, p.InUse)
	t.skip(reasonChanged, p.Skipped-p.InUse)
}

func (t *tally) record(run *store.JobRun) {
	run.Considered, run.Changed, run.Skipped, run.Reasons = t.considered, t.changed, t.skipped, t.reasons
}

func runOf(r *store.JobRun) Run {
	out := Run{
		StartedAt: r.StartedAt.UTC(), Considered: r.Considered, Changed: r.Changed, Skipped: r.Skipped,
		Reasons: r.Reasons, Error: r.Error,
	}
	if out.Reasons == nil {
		out.Reasons = map[string]int{}
	}
	if !r.FinishedAt.IsZero() {
		at := r.FinishedAt.UTC()
		out.FinishedAt = &at
	}
	return out
}
