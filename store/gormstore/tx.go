package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"gorm.io/gorm"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/store"
)

// maxTries bounds how often a transaction is run (reference: retry a lost
// deadlock as a whole, at most 5 times, with jitter).
const maxTries = 5

// rollbackTimeout bounds the wait for a server that is asked to forget.
const rollbackTimeout = 5 * time.Second

// tx runs statements: in a transaction, or each by itself.
type tx struct {
	db      *gorm.DB
	pool    gorm.ConnPool
	dialect *dialect
	// again is set if an earlier try may have been committed after all.
	again bool
}

// exec runs a statement and returns how many rows it found.
func (t *tx) exec(sql string, args ...any) (int64, error) {
	r, err := t.pool.ExecContext(t.db.Statement.Context, t.dialect.sql(sql), args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// row reads one row, column by column, and reports whether there is one.
func (t *tx) row(columns []any, sql string, args ...any) (found bool, err error) {
	rows, err := t.pool.QueryContext(t.db.Statement.Context, t.dialect.sql(sql), args...)
	if err != nil {
		return false, err
	}
	defer func() { _ = rows.Close() }()
	if found = rows.Next(); found {
		err = rows.Scan(columns...)
	}
	return found, cmp.Or(err, rows.Err(), rows.Close())
}

// find reads into a value, a struct or a slice and returns the number of rows.
func (t *tx) find(dest any, sql string, args ...any) (int64, error) {
	r := t.db.Raw(t.dialect.sql(sql), binaries(args)...).Scan(dest)
	return r.RowsAffected, r.Error
}

// binary is a []byte that gorm passes on as it is: it takes a plain one that
// follows a parenthesis for a list.
type binary []byte

// Value implements [driver.Valuer].
func (b binary) Value() (driver.Value, error) { return []byte(b), nil }

func binaries(args []any) []any {
	out := make([]any, len(args)) // the caller may use its list again
	for i, v := range args {
		if b, ok := v.([]byte); ok {
			v = binary(b)
		}
		out[i] = v
	}
	return out
}

// read runs fn, whose statements stand each for itself, and runs it again if the
// connection turned out to be dead.
func (s *Store) read(ctx context.Context, op string, fn func(*tx) error) error {
	var err error
	for try := 1; try <= 2; try++ {
		err = fn(s.session(ctx, &observed{pool: s.reader, observer: s.observer}))
		if err == nil || !connectionLost(err) || ctx.Err() != nil {
			break
		}
	}
	return s.mapError(ctx, op, err)
}

// autocommit runs fn on a writing connection, each statement its own transaction.
func (s *Store) autocommit(ctx context.Context, op string, fn func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if s.changed != nil {
		defer s.changed(ctx)
	}
	run, cancel := detach(ctx)
	defer cancel()
	var err error
	for try := 1; try <= maxTries; try++ {
		if err = fn(s.session(run, &observed{pool: s.single, observer: s.observer})); !lockLost(err) {
			break
		}
		if s.pause(run, try) != nil {
			break
		}
	}
	return s.mapError(ctx, op, err)
}

// write runs fn in a transaction. It is run again as a whole if the transaction
// lost a lock or its connection, and if nobody knows whether its commit took
// place; fn then finds again set. fn must have no effect but through tx.
//
// Waiting for a connection ends with ctx. What has begun goes on when ctx is
// cancelled: half of it would be thrown away and its connection with it. Only
// a deadline counts.
func (s *Store) write(ctx context.Context, op string, fn func(*tx) error) error {
	if s.changed != nil {
		defer s.changed(ctx)
	}
	var again bool
	for try := 1; ; try++ {
		err := s.once(ctx, again, fn)
		if err == nil {
			return nil
		}
		again = again || errors.Is(err, errUnknownCommit)
		late := errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errUnknownCommit)
		if try == maxTries || late || !(lockLost(err) || connectionLost(err) || errors.Is(err, errUnknownCommit)) {
			return s.mapError(ctx, op, err)
		}
		s.log.DebugContext(ctx, "transaction is run again", "op", op, "try", try, "error", errorClass(err))
		if s.pause(ctx, try) != nil {
			return s.mapError(ctx, op, err)
		}
	}
}

// errUnknownCommit marks an error of COMMIT: the transaction may be there or not.
var errUnknownCommit = errors.New("outcome of commit is unknown")

func (s *Store) once(ctx context.Context, again bool, fn func(*tx) error) (err error) {
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	run, cancel := s.bound(ctx)
	defer cancel()
	defer func() { err = overdue(run, err) }()
	open := true
	defer func() { // also when fn panics
		if open {
			rollback(run, conn)
		}
	}()
	if s.dialect.begin != "" {
		if _, err := conn.ExecContext(run, s.dialect.begin); err != nil {
			return err
		}
	}
	t := s.session(run, &observed{pool: conn, observer: s.observer})
	t.again = again
	if err := fn(t); err != nil {
		return err
	}
	if s.observer != nil {
		if err := s.observer.Commit(run); err != nil {
			return err
		}
	}
	if _, err := conn.ExecContext(run, "COMMIT"); err != nil {
		return fmt.Errorf("%w: %w", errUnknownCommit, err)
	}
	open = false
	if s.observer != nil {
		if err := s.observer.Committed(run); err != nil {
			return fmt.Errorf("%w: %w", errUnknownCommit, err)
		}
	}
	return nil
}

// rollback leaves the connection without a transaction, or closes it: the pool
// must never hand out one with half of somebody else's work.
func rollback(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_, err := conn.ExecContext(ctx, "ROLLBACK")
	if err == nil || sqliteCode(err) == sqlite3.SQLITE_ERROR { // SQLite did it already
		return
	}
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

func (s *Store) session(ctx context.Context, pool gorm.ConnPool) *tx {
	db := s.gorm.Session(&gorm.Session{NewDB: true, Context: ctx})
	db.Statement.ConnPool = pool
	return &tx{db: db, pool: pool, dialect: s.dialect}
}

// pause waits before the next try: 5 to 10 ms, doubling.
func (s *Store) pause(ctx context.Context, try int) error {
	base := 5 * time.Millisecond << (try - 1)
	return clock.Sleep(ctx, clock.Real(), base+rand.N(base))
}

// bound is [detach] for the statements of a transaction.
func (s *Store) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.dialect.driver != MySQL {
		return detach(ctx)
	}
	run := deadlineOnly{context.WithoutCancel(ctx), clock.Real().Now().Add(writeTimeout)}
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(run.deadline) {
		run.deadline = deadline
	}
	return run, func() {}
}

// overdue tells a connection that was given up at the deadline from one that was lost.
func overdue(ctx context.Context, err error) error {
	if deadline, ok := ctx.Deadline(); ok && connectionLost(err) && !clock.Real().Now().Before(deadline) {
		return fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	}
	return err
}

// detach keeps the deadline of ctx but not its cancellation.
func detach(ctx context.Context) (context.Context, context.CancelFunc) {
	run := context.WithoutCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		var cancel, cancelMax context.CancelFunc
		run, cancel = context.WithDeadline(run, deadline)
		run, cancelMax = context.WithTimeout(run, writeTimeout)
		return run, func() { cancelMax(); cancel() }
	}
	return context.WithTimeout(run, writeTimeout)
}

// observed shows statements to the observer before they run.
type observed struct {
	pool     gorm.ConnPool
	observer Observer
}

func (o *observed) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return o.pool.PrepareContext(ctx, query)
}

func (o *observed) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if o.observer != nil {
		if err := o.observer.Statement(ctx, query); err != nil {
			return nil, err
		}
	}
	return o.pool.ExecContext(ctx, query, args...)
}

func (o *observed) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if o.observer != nil {
		if err := o.observer.Statement(ctx, query); err != nil {
			return nil, err
		}
	}
	return o.pool.QueryContext(ctx, query, args...)
}

func (o *observed) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return o.pool.QueryRowContext(ctx, query, args...)
}

// mapError gives an error of the database its place among the sentinels. Errors
// that are one already stay what they are.
func (s *Store) mapError(ctx context.Context, op string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", op, ctx.Err())
	case unreachable(err):
		return fmt.Errorf("%s: %w: %w", op, store.ErrUnavailable, err)
	default:
		return fmt.Errorf("%s: %w", op, err)
	}
}
