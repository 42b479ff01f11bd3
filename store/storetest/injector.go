package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// errInjected is the failure that tests inject. A store must treat it as an
// error of its database that says nothing more.
var errInjected = errors.New("injected failure")

// Injector makes statements and commits fail, and counts them. A store that can
// fail calls it around everything it sends to its database. It does nothing until
// a test arms it.
type Injector struct {
	mu sync.Mutex
	// statement is the number of the statement that fails, from 1; zero: none.
	statement int
	// commit and committed are how many commits fail, before or after they took place.
	commit, committed int
	jitter            time.Duration

	seen  int
	fired bool
}

// Statement is to be called before each statement; its error is the statement's.
func (in *Injector) Statement(ctx context.Context, _ string) error {
	in.mu.Lock()
	in.seen++
	fail := in.seen == in.statement
	in.fired = in.fired || fail
	jitter := in.jitter
	in.mu.Unlock()
	if jitter > 0 {
		if err := clock.Sleep(ctx, clock.Real(), rand.N(jitter)); err != nil {
			return err
		}
	}
	if fail {
		return errInjected
	}
	return nil
}

// Commit is to be called before each commit; on an error the transaction must be rolled back.
func (in *Injector) Commit(context.Context) error { return in.take(&in.commit) }

// Committed is to be called after each commit; its error stands for a lost answer.
func (in *Injector) Committed(context.Context) error { return in.take(&in.committed) }

func (in *Injector) take(left *int) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if *left == 0 {
		return nil
	}
	*left--
	in.fired = true
	return errInjected
}

// arm sets what fails from now on.
func (in *Injector) arm(statement, commit, committed int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.statement, in.commit, in.committed, in.seen, in.fired = statement, commit, committed, 0, false
}

// disarm ends all failures and reports whether there was one.
func (in *Injector) disarm() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	fired := in.fired
	in.statement, in.commit, in.committed, in.seen, in.fired = 0, 0, 0, 0, false
	return fired
}

// delay puts a random pause of up to d before every statement.
func (in *Injector) delay(d time.Duration) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.jitter = d
}
