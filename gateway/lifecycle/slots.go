package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/internal/panics"
	"github.com/chatkeep/chatkeep/store"
)

const (
	// slotPage is how many candidates are read at once.
	slotPage = 200
	// maxFailures ends a pass: what fails for so many in a row fails for all.
	maxFailures = 5

	reasonFailed = "failed"
)

// SlotJob shortens the contexts of slots.
type SlotJob struct {
	Name string
	// Off says why there is nothing to do as things are configured; empty: there is.
	Off func() string
	// Candidates returns a page of slots that may be due; see [store.Lifecycle].
	Candidates func(ctx context.Context, after string, limit int) (slots []store.SlotSize, next string, err error)
	// Do acts on at most Chunk slots, or finds out what it would do. The reason of each says
	// why it was left as it is; empty: it was changed. After an error for several they are
	// tried again one by one. It returns when ctx ends.
	Do    func(ctx context.Context, slots []store.SlotSize, dryRun bool) (reasons []string, err error)
	Chunk int
	// Workers bounds the chunks that are worked on side by side.
	Workers int
}

// slotJob is a SlotJob with where its last pass ended.
type slotJob struct {
	SlotJob

	log   *slog.Logger
	mu    sync.Mutex
	after string // the cursor of the first page that was not finished; "": all were
	// left are the slots of that page that had their turn and stayed as they are.
	left map[slotName]bool
}

type slotName struct{ key, slot string }

func nameOf(s store.SlotSize) slotName { return slotName{s.SessionKey, s.Slot} }

func (j *slotJob) name() string         { return j.Name }
func (j *slotJob) off(*Settings) string { return j.Off() }

func (j *slotJob) cursor() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.after
}

// finished notes that all before a cursor had their turn.
func (j *slotJob) finished(after string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.after, j.left = after, nil
}

func (j *slotJob) leave(slot store.SlotSize) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.left == nil {
		j.left = map[slotName]bool{}
	}
	j.left[nameOf(slot)] = true
}

// due are the slots of a page that no earlier pass left as they are.
func (j *slotJob) due(slots []store.SlotSize) []store.SlotSize {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := make([]store.SlotSize, 0, len(slots))
	for _, s := range slots {
		if !j.left[nameOf(s)] {
			out = append(out, s)
		}
	}
	return out
}

// pass goes through the candidates, page by page. A pass that ended before they did is
// taken up there by the next one, so that slots which cannot be helped do not keep it
// from the others.
func (j *slotJob) pass(ctx, bounded context.Context, _ *Settings, _ time.Time, t *tally) error {
	f := &failures{}
	for after := j.cursor(); ; {
		slots, next, err := j.Candidates(bounded, after, slotPage)
		if errors.Is(err, store.ErrInvalid) && after != "" { // of an earlier version
			after = ""
			j.finished(after)
			continue
		}
		if err != nil {
			return err
		}
		if !j.page(ctx, bounded, j.due(slots), t, f) {
			return f.err()
		}
		j.finished(next)
		if after = next; next == "" {
			return f.err()
		}
	}
}

// page works on slots side by side and reports whether it came to all of them.
func (j *slotJob) page(ctx, bounded context.Context, slots []store.SlotSize, t *tally, f *failures) bool {
	free := make(chan struct{}, max(j.Workers, 1))
	var group sync.WaitGroup
	defer group.Wait()
	for chunk := range slices.Chunk(slots, max(j.Chunk, 1)) {
		select {
		case <-bounded.Done():
			return false
		case free <- struct{}{}:
		}
		if bounded.Err() != nil || f.tooMany() {
			return false
		}
		group.Go(func() {
			defer func() { <-free }()
			j.work(ctx, chunk, t, f)
		})
	}
	group.Wait()
	return ctx.Err() == nil && !f.tooMany() // or else the rest of a chunk was left
}

// work acts on a chunk and counts what became of it.
func (j *slotJob) work(ctx context.Context, chunk []store.SlotSize, t *tally, f *failures) {
	reasons, err := j.do(ctx, chunk)
	switch {
	case err != nil && len(chunk) > 1:
		for i := range chunk {
			if ctx.Err() != nil || f.tooMany() {
				return
			}
			j.work(ctx, chunk[i:i+1], t, f)
		}
		return
	case err != nil:
		j.leave(chunk[0])
		t.skip(reasonFailed, 1)
	}
	f.note(err)
	for i, reason := range reasons {
		if reason == "" {
			t.change(1)
			continue
		}
		j.leave(chunk[i])
		t.skip(reason, 1)
	}
}

// do contains a panic to the chunk.
func (j *slotJob) do(ctx context.Context, chunk []store.SlotSize) (reasons []string, err error) {
	defer func() {
		if v := recover(); v != nil {
			j.log.Error("job panicked", "job", j.name(), "panic", panics.Value(v))
			reasons, err = nil, panics.Error(v)
		}
	}()
	return j.Do(ctx, chunk, false)
}

func (j *slotJob) preview(ctx context.Context, _ *Settings, _ time.Time, t *tally) (some []string, more bool, err error) {
	slots, next, err := j.Candidates(ctx, "", slotPage)
	if err != nil {
		return nil, false, err
	}
	for i := range slots {
		reasons, err := j.Do(ctx, slots[i:i+1], true)
		switch {
		case err != nil:
			return some, true, err
		case reasons[0] != "":
			t.skip(reasons[0], 1)
			continue
		}
		t.change(1)
		if len(some) < shown {
			some = append(some, slots[i].SessionKey)
		}
	}
	return some, next != "", nil
}

// failures remembers what went wrong. It is safe for concurrent use.
type failures struct {
	mu    sync.Mutex
	first error
	count int
	inRow int
}

func (f *failures) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		if f.inRow < maxFailures { // or else it is over
			f.inRow = 0
		}
		return
	}
	f.count++
	f.inRow++
	if f.first == nil {
		f.first = err
	}
}

func (f *failures) tooMany() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.inRow >= maxFailures
}

func (f *failures) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == 0 {
		return nil
	}
	return fmt.Errorf("%d failed, the first: %w", f.count, f.first)
}
