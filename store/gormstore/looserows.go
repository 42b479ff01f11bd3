package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/chatkeep/chatkeep/store"
)

// looseTable is a table that is carried to another store row by row.
type looseTable struct {
	name string
	// key is the primary key.
	key []string
	// page is how many rows are held at once.
	page int
}

// looseTables are those of [Store.LooseRows]. What is left out is what a session record
// holds, what waits or is over (inbox, outbox, lanes, stream cards), what counts for
// some minutes, and what belongs to the database itself.
var looseTables = []looseTable{
	{"tasks", []string{"id"}, 100},
	{"task_runs", []string{"id"}, 200},
	{"dedup", []string{"key_hash"}, 500},
	{"thread_aliases", []string{"alias_hash"}, 500},
	{"access_grants", []string{"subject_hash"}, 200},
	{"budgets", []string{"key_hash"}, 500},
	{"usage_totals", []string{"kind", "day", "subject_hash", "model"}, 500},
	{"approvals", []string{"code"}, 20},
	{"full_results", []string{"sid", "id"}, 2}, // some megabytes each
}

// LooseRows reads the tables in the order of their keys.
func (s *Store) LooseRows(ctx context.Context, visit func([]store.LooseRow) error) error {
	for _, table := range looseTables {
		var after []any
		for {
			var page []store.LooseRow
			err := s.read(ctx, "read "+table.name, func(t *tx) (err error) {
				page, err = table.read(t, after)
				return err
			})
			if err != nil {
				return err
			}
			if len(page) > 0 {
				if err := visit(page); err != nil {
					return err
				}
			}
			if len(page) < table.page {
				break
			}
			after = table.keyOf(&page[len(page)-1])
		}
	}
	return nil
}

// read returns the rows behind a key, in its order.
func (l *looseTable) read(t *tx, after []any) ([]store.LooseRow, error) {
	where, args := "1 = 1", []any{}
	if after != nil {
		behind, keys := behind(l.key, after)
		where, args = l.key[0]+" >= ? AND ("+behind+")", append([]any{after[0]}, keys...)
	}
	rows, err := t.pool.QueryContext(t.db.Statement.Context,
		"SELECT * FROM "+l.name+" WHERE "+where+" ORDER BY "+strings.Join(l.key, ", ")+" LIMIT ?", append(args, l.page)...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var out []store.LooseRow
	for rows.Next() {
		row := store.LooseRow{Table: l.name, Columns: columns, Values: make([]any, len(columns))}
		into := make([]any, len(columns))
		for i := range into {
			into[i] = &row.Values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// behind is the condition for the rows behind a key.
func behind(columns []string, key []any) (where string, args []any) {
	where, args = columns[0]+" > ?", []any{key[0]}
	if len(columns) > 1 {
		rest, more := behind(columns[1:], key[1:])
		where, args = where+" OR "+columns[0]+" = ? AND ("+rest+")", append(append(args, key[0]), more...)
	}
	return where, args
}

func (l *looseTable) keyOf(row *store.LooseRow) []any {
	key := make([]any, len(l.key))
	for i, name := range l.key {
		key[i] = row.Values[slices.Index(row.Columns, name)]
	}
	return key
}

// PutLooseRows adds those rows whose keys are not there.
func (s *Store) PutLooseRows(ctx context.Context, rows []store.LooseRow) (added int, err error) {
	err = s.write(ctx, "put rows", func(t *tx) error {
		added = 0
		for left := rows; len(left) > 0; {
			n := 1
			for n < len(left) && left[n].Table == left[0].Table {
				n++
			}
			some, err := putRows(t, left[:n])
			if err != nil {
				return fmt.Errorf("%s: %w", left[0].Table, err)
			}
			added += some
			left = left[n:]
		}
		return nil
	})
	return added, err
}

// putRows adds rows of one table. Values take the types that the columns have here.
func putRows(t *tx, rows []store.LooseRow) (added int, err error) {
	i := slices.IndexFunc(looseTables, func(l looseTable) bool { return l.name == rows[0].Table })
	if i < 0 {
		return 0, fmt.Errorf("no rows of it are carried: %w", store.ErrInvalid)
	}
	table := looseTables[i]
	text, err := table.textColumns(t)
	if err != nil {
		return 0, err
	}
	insert := "INSERT INTO " + table.name + " (" + strings.Join(rows[0].Columns, ", ") + ") VALUES "
	for _, row := range rows {
		values := make([]any, len(row.Values))
		for i, v := range row.Values {
			values[i] = convert(v, text[row.Columns[i]])
		}
		_, err := t.exec(insert+"("+strings.TrimSuffix(strings.Repeat("?,", len(values)), ",")+")", values...)
		switch {
		case duplicate(err):
		case err != nil:
			return added, err
		default:
			added++
		}
	}
	return added, nil
}

// textColumns tells columns of text from those of bytes.
func (l *looseTable) textColumns(t *tx) (map[string]bool, error) {
	rows, err := t.pool.QueryContext(t.db.Statement.Context, "SELECT * FROM "+l.name+" LIMIT 0")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	out := make(map[string]bool, len(types))
	for _, c := range types {
		out[c.Name()] = isText(c)
	}
	return out, rows.Err()
}

func isText(c *sql.ColumnType) bool {
	name := strings.ToUpper(c.DatabaseTypeName())
	return strings.Contains(name, "TEXT") || strings.Contains(name, "CHAR")
}

// convert gives texts and bytes the type that a column has; the databases do not agree
// on which of them an id is.
func convert(v any, text bool) any {
	switch v := v.(type) {
	case []byte:
		if text {
			return string(v)
		}
	case string:
		if !text {
			return []byte(v)
		}
	}
	return v
}
