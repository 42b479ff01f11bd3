package gormstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/chatkeep/chatkeep/store"
)

// marked are the rows that change with whatever belongs to a session. Messages are
// never changed: their slots tell how many there are.
var marked = []string{
	"SELECT slot, epoch FROM lanes WHERE sid = ?",
	"SELECT * FROM sessions WHERE sid = ?",
	"SELECT * FROM slots WHERE sid = ? ORDER BY name",
	"SELECT * FROM notes WHERE sid = ? ORDER BY place",
	"SELECT * FROM variables WHERE sid = ? ORDER BY name",
	"SELECT * FROM plan_files WHERE sid = ? ORDER BY name",
}

// SessionMark hashes all of them.
func (s *Store) SessionMark(ctx context.Context, key string) (mark string, err error) {
	err = s.read(ctx, "session mark", func(t *tx) error {
		if _, err := findSession(t, sidOf(key)); err != nil {
			return err
		}
		mark, err = markOf(t, sidOf(key))
		return err
	})
	return mark, err
}

func markOf(t *tx, sid []byte) (string, error) {
	h := sha256.New()
	for _, query := range marked {
		if err := t.digest(h, query, sid); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// digest writes the rows of a query to a hash, column by column.
func (t *tx) digest(w io.Writer, query string, args ...any) error {
	rows, err := t.pool.QueryContext(t.db.Statement.Context, t.dialect.sql(query), args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	columns, into := make([]sql.RawBytes, len(names)), make([]any, len(names))
	for i := range columns {
		into[i] = &columns[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for _, c := range columns {
			_, _ = fmt.Fprintf(w, "%t %d:", c == nil, len(c)) // a hash takes everything
			_, _ = w.Write(c)
		}
	}
	return rows.Err()
}

var _ store.Lifecycle = (*Store)(nil)
