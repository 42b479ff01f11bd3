package gormstore

import (
	"encoding/base64"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/store"
)

// Sizes of pages.
const (
	defaultPage = 50
	maxPage     = 1000
)

func pageSize(limit int) int {
	if limit <= 0 {
		return defaultPage
	}
	return min(limit, maxPage)
}

// cursor is the last row of a page: lists are ordered by a time and an id, both
// descending.
type cursor struct {
	set  bool
	at   int64
	id   string
	skip int // rows that are still to be skipped
}

func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(fmt.Sprintf("%d,%d,%s", c.at, c.skip, c.id)))
}

func parseCursor(text string) (cursor, error) {
	if text == "" {
		return cursor{}, nil
	}
	bad := fmt.Errorf("cursor: %w", store.ErrInvalid)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return cursor{}, bad
	}
	parts := strings.SplitN(string(raw), ",", 3)
	if len(parts) != 3 {
		return cursor{}, bad
	}
	at, errAt := strconv.ParseInt(parts[0], 10, 64)
	skip, errSkip := strconv.Atoi(parts[1])
	if errAt != nil || errSkip != nil || skip < 0 {
		return cursor{}, bad
	}
	return cursor{set: true, at: at, skip: skip, id: parts[2]}, nil
}

// parseTextCursor is parseCursor for rows whose id is a text.
func parseTextCursor(text string) (cursor, error) {
	c, err := parseCursor(text)
	if err == nil && (!utf8.ValidString(c.id) || strings.ContainsRune(c.id, 0)) {
		err = fmt.Errorf("cursor: %w", store.ErrInvalid)
	}
	return c, err
}

// after is the condition for rows behind the cursor, to be appended to one with args.
func (c cursor) after(at, id string, args ...any) (string, []any) {
	if !c.set {
		return "", args
	}
	return " AND " + at + " <= ? AND (" + at + " < ? OR " + id + " < ?)", append(args, c.at, c.at, c.id)
}

// page sorts rows, newest first, cuts them to limit and returns the cursor of the
// next page if there may be one.
func page[T any](rows []T, limit int, of func(T) cursor) ([]T, string) {
	sort.Slice(rows, func(i, j int) bool {
		a, b := of(rows[i]), of(rows[j])
		return a.at > b.at || a.at == b.at && a.id > b.id
	})
	if len(rows) <= limit {
		return rows, ""
	}
	rows = rows[:limit]
	return rows, of(rows[limit-1]).String()
}
