package lifecycle

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/sessionmgr/transfer"
	"github.com/chatkeep/chatkeep/store"
)

// exportWorkers bounds the sessions that are exported side by side.
const exportWorkers = 4

// expiry is what deletion with an export needs of a store.
type expiry interface {
	steps
	transfer.Reader

	SessionMark(ctx context.Context, key string) (string, error)
	ExpireSession(ctx context.Context, key string, before time.Time, mark string) (bool, error)
}

// expire deletes sessions that nobody uses any more.
type expire struct {
	step

	store expiry
}

func newExpire(s expiry) *expire {
	return &expire{store: s, step: step{
		store: s, step: store.StepExpire, key: "session.ttl", do: s.ExpireSessions,
		after: func(s *Settings) time.Duration { return s.TTL },
	}}
}

// pass deletes at once where nothing is exported. Else each session is written down,
// read back, and deleted only if it has not changed since.
func (j *expire) pass(ctx, bounded context.Context, s *Settings, now time.Time, t *tally) error {
	if s.ExportDir == "" {
		return j.step.pass(ctx, bounded, s, now, t)
	}
	before, f := now.Add(-s.TTL), &failures{}
	for seen := map[string]bool{}; ; {
		due, err := j.store.DueSessions(bounded, store.StepExpire, before, dueLimit)
		if err != nil {
			return err
		}
		var fresh []string
		for _, key := range due {
			if !seen[key] { // what could not be deleted is still due
				seen[key] = true
				fresh = append(fresh, key)
			}
		}
		if len(fresh) == 0 || f.tooMany() {
			return f.err()
		}
		if err := j.exportAll(ctx, bounded, fresh, s.ExportDir, before, t, f); err != nil {
			return err
		}
	}
}

func (j *expire) exportAll(ctx, bounded context.Context, keys []string, dir string, before time.Time, t *tally, f *failures) error {
	work := make(chan string)
	var group sync.WaitGroup
	for range exportWorkers {
		group.Go(func() {
			for key := range work {
				gone, err := j.exportAndExpire(ctx, key, dir, before)
				switch {
				case err != nil:
					t.skip(reasonExport, 1)
				case gone:
					t.change(1)
				default:
					t.skip(reasonChanged, 1)
				}
				f.note(err)
			}
		})
	}
	defer group.Wait()
	defer close(work)
	for _, key := range keys {
		if f.tooMany() {
			return nil
		}
		select {
		case <-bounded.Done():
			return bounded.Err()
		case work <- key:
		}
	}
	return nil
}

func (j *expire) exportAndExpire(ctx context.Context, key, dir string, before time.Time) (gone bool, err error) {
	mark, err := j.store.SessionMark(ctx, key)
	if err == nil {
		err = export(ctx, j.store, key, dir)
	}
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return j.store.ExpireSession(ctx, key, before, mark)
}
