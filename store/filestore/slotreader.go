package filestore

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/chatkeep/chatkeep/store"
)

// slotReader reads the file of a slot, whose marks stand behind the messages that they
// are about: first where they are, then the messages.
type slotReader struct {
	path string
	// marks are the places of the last mark of each message that has one.
	marks map[int64]int64
	// last is the last message.
	last int64
}

// scan finds the marks and the end. A file that is not there holds nothing.
func (r *slotReader) scan() error {
	r.marks = map[int64]int64{}
	err := readLines(r.path, func(at int64, line []byte) error {
		var l struct {
			Seq  int64 `json:"seq"`
			Mark *mark `json:"mark"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return err
		}
		switch {
		case l.Mark != nil:
			r.marks[l.Mark.Seq] = at
		case l.Seq <= r.last:
			return fmt.Errorf("message %d follows message %d", l.Seq, r.last)
		default:
			r.last = l.Seq
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Bounds on a page.
const (
	maxPageLines = 200
	maxPageBytes = 4 << 20
)

// messages visits the messages in pages.
func (r *slotReader) messages(visit func([]*store.MessageRecord) error) error {
	f, err := os.Open(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &unreadableError{err}
	}
	defer func() { _ = f.Close() }()
	var page []*store.MessageRecord
	size := 0
	flush := func() error {
		some := page
		page, size = nil, 0
		if len(some) == 0 {
			return nil
		}
		return visit(some)
	}
	err = readLines(r.path, func(_ int64, line []byte) error {
		if strings.HasPrefix(string(line[:min(len(line), 8)]), `{"mark":`) {
			return nil
		}
		m := &store.MessageRecord{}
		if err := json.Unmarshal(line, m); err != nil {
			return &unreadableError{err}
		}
		if err := r.apply(f, m); err != nil {
			return &unreadableError{err}
		}
		page, size = append(page, m), size+len(line)
		if len(page) >= maxPageLines || size >= maxPageBytes {
			return flush()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// apply gives a message its latest mark.
func (r *slotReader) apply(f io.ReaderAt, m *store.MessageRecord) error {
	at, ok := r.marks[m.Seq]
	if !ok {
		return nil
	}
	var l markLine
	if err := json.NewDecoder(io.NewSectionReader(f, at, 1<<62)).Decode(&l); err != nil {
		return err
	}
	m.Undone = l.Mark.Undone
	if l.Mark.Form != nil {
		m.Form = &store.PrunedForm{Seq: m.Seq, Pruned: l.Mark.Form.Pruned, Content: l.Mark.Form.Content}
	}
	return nil
}
