package lifecycle

import (
	"context"
	"time"

	"github.com/chatkeep/chatkeep/store"
)

// job is one kind of work on sessions.
type job interface {
	name() string
	// off says why there is nothing to do; empty: there is.
	off(s *Settings) string
	// pass works until nothing is left or bounded ends; ctx, which outlasts it, is for
	// what has begun by then.
	pass(ctx, bounded context.Context, s *Settings, now time.Time, t *tally) error
	// preview counts what a pass would change, and names some of it. more is set if there
	// is more than it counted.
	preview(ctx context.Context, s *Settings, now time.Time, t *tally) (some []string, more bool, err error)
}

const (
	// passLimit bounds the sessions that one pass changes.
	passLimit = 100_000
	// dueLimit is how many due sessions are named at once: the most the store does.
	dueLimit = 1000
	// shown is how many a dry run names.
	shown = 100
)

// steps is what the transitions need of a store.
type steps interface {
	IdleSessions(ctx context.Context, before time.Time, batch int) (store.Passed, error)
	ArchiveSessions(ctx context.Context, before time.Time, batch int) (store.Passed, error)
	ExpireSessions(ctx context.Context, before time.Time, batch int) (store.Passed, error)
	DueSessions(ctx context.Context, step store.Step, before time.Time, limit int) ([]string, error)
}

// step is a transition that time brings about.
type step struct {
	store steps
	step  store.Step
	// key names the setting, after is what it says: since the last use.
	key   string
	after func(s *Settings) time.Duration
	do    func(ctx context.Context, before time.Time, batch int) (store.Passed, error)
}

func idleStep(s steps) *step {
	return &step{
		store: s, step: store.StepIdle, key: "session.idleTimeout", do: s.IdleSessions,
		after: func(s *Settings) time.Duration { return s.IdleTimeout },
	}
}

func archiveStep(s steps) *step {
	return &step{
		store: s, step: store.StepArchive, key: "session.archiveAfter", do: s.ArchiveSessions,
		after: func(s *Settings) time.Duration {
			if s.ArchiveAfter <= 0 {
				return 0
			}
			return max(s.IdleTimeout, 0) + s.ArchiveAfter
		},
	}
}

func (j *step) name() string { return string(j.step) }

func (j *step) off(s *Settings) string {
	if j.after(s) <= 0 {
		return j.key + " is 0s"
	}
	return ""
}

func (j *step) pass(_, bounded context.Context, s *Settings, now time.Time, t *tally) error {
	passed, err := j.do(bounded, now.Add(-j.after(s)), passLimit)
	t.add(passed)
	return err
}

func (j *step) preview(ctx context.Context, s *Settings, now time.Time, t *tally) ([]string, bool, error) {
	due, err := j.store.DueSessions(ctx, j.step, now.Add(-j.after(s)), dueLimit)
	t.change(len(due))
	return due[:min(len(due), shown)], len(due) == dueLimit, err
}
