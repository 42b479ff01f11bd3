package gormstore

import (
	"database/sql"
	"encoding/json"
	"time"
)

// micros is how times are stored; the zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// nullMicros stores the zero time as NULL.
func nullMicros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

func nullTime(t *time.Time) any {
	if t == nil {
		return nil
	}
	return nullMicros(*t)
}

func fromMicros(v int64) time.Time {
	if v == 0 {
		return time.Time{}
	}
	return time.UnixMicro(v).UTC()
}

func fromNull(v sql.NullInt64) time.Time {
	if !v.Valid {
		return time.Time{}
	}
	return fromMicros(v.Int64)
}

func timePointer(v sql.NullInt64) *time.Time {
	if !v.Valid {
		return nil
	}
	t := fromMicros(v.Int64)
	return &t
}

// encode stores a value as JSON; nil pointers and empty slices as NULL.
func encode[T any](v T, empty bool) (any, error) {
	if empty {
		return nil, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return string(b), nil
}

// decode reads what encode wrote.
func decode[T any](text sql.NullString) (v T, err error) {
	if !text.Valid || text.String == "" {
		return v, nil
	}
	err = json.Unmarshal([]byte(text.String), &v)
	return v, err
}

// bit stores a bool.
func bit(v bool) int {
	if v {
		return 1
	}
	return 0
}

// millis is how spans of leases are passed to SQL. A span is never cut to nothing.
func millis(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return max(d.Milliseconds(), 1)
}

// anys passes a list as arguments.
func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}
