package gormstore

import (
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/store"
)

// countUse counts in a window that begins with its first use, by one statement that
// returns the count. Its row stays locked: those who count the same thing at once,
// on any replica, do so one after the other. MySQL assigns from left to right.
const countUse = `INSERT INTO rates (key_hash, started_at, used) VALUES (?, ?, 1)
	{upsert key_hash} used = {returned CASE WHEN rates.started_at <= ? THEN 1 ELSE rates.used + 1 END},
	started_at = CASE WHEN rates.started_at <= ? THEN ? ELSE rates.started_at END {returning used}`

func countTry(t *tx, key string, now time.Time, window time.Duration) (int, error) {
	at, over := micros(now), micros(now.Add(-window))
	n, err := t.returned(countUse, hash("rate", key), at, over, over, at)
	return int(n), err
}

// returned runs an upsert whose text marks the value that it returns; 1 for a new row.
func (t *tx) returned(text string, args ...any) (n int64, err error) {
	if t.dialect.driver == SQLite {
		_, err = t.row([]any{&n}, text, args...)
		return n, err
	}
	r, err := t.pool.ExecContext(t.db.Statement.Context, t.dialect.sql(text), args...)
	if err != nil {
		return 0, err
	}
	if n, err = r.LastInsertId(); n == 0 {
		n = 1 // no row to update: nothing was returned
	}
	return n, err
}

// limited counts a message that asks for a turn, and reports whether it is one too
// many, and why.
func limited(t *tx, r *store.Rate, now time.Time) (bool, string, error) {
	if r == nil {
		return false, "", nil
	}
	n, err := countTry(t, r.Key, now, r.Window)
	return n > r.Most, fmt.Sprintf("more than %d messages within %s", r.Most, r.Window), err
}
