package filestore

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
)

// page is how many messages are read at once.
const page = 500

// markLine says of an earlier message how it is shown from now on.
type markLine struct {
	Mark mark `json:"mark"`
	// Through is the last message above this line.
	Through int64 `json:"through"`
}

// mark is what of a message changes after it was written.
type mark struct {
	Seq    int64 `json:"seq"`
	Undone bool  `json:"undone,omitempty"`
	Form   *form `json:"form,omitempty"`
}

type form struct {
	Pruned  string `json:"pruned"`
	Content string `json:"content"`
}

func markOf(m *store.MessageRecord) mark {
	out := mark{Seq: m.Seq, Undone: m.Undone}
	if m.Form != nil {
		out.Form = &form{m.Form.Pruned, m.Form.Content}
	}
	return out
}

// reader reads messages of the database.
type reader interface {
	MessageRecords(ctx context.Context, ref string, after int64, limit int) ([]*store.MessageRecord, error)
}

// writeMessages writes the file of a slot anew and returns the last message in it.
func writeMessages(ctx context.Context, from reader, dir, slot, ref string) (last int64, err error) {
	path := filepath.Join(dir, slotFile(slot))
	if err := makeDir(filepath.Dir(path)); err != nil {
		return 0, err
	}
	err = writeFile(path, func(w *bufio.Writer) error {
		last, err = writeAfter(ctx, from, slot, ref, 0, w)
		return err
	})
	return last, err
}

// writeAfter writes the messages behind a seq, and returns the last one.
func writeAfter(ctx context.Context, from reader, slot, ref string, after int64, w *bufio.Writer) (int64, error) {
	for {
		messages, err := from.MessageRecords(ctx, ref, after, page)
		if err != nil || len(messages) == 0 {
			return after, err
		}
		for _, m := range messages {
			m.Slot = slot
			if err := writeLine(w, m); err != nil {
				return after, err
			}
			after = m.Seq
		}
	}
}

// followMessages brings the file of a slot up to date by what was noted of it, and
// returns the last message in it. A file that does not end where it should is written
// anew.
func followMessages(ctx context.Context, from reader, dir string, c *gormstore.ChangedContext) (int64, error) {
	path := filepath.Join(dir, slotFile(c.Slot))
	last, fits, err := endOf(path)
	if err != nil {
		return 0, err
	}
	if c.Whole || !fits || c.From > 0 && last >= c.From {
		return writeMessages(ctx, from, dir, c.Slot, c.Ref)
	}
	err = appendFile(path, func(w *bufio.Writer) error {
		for _, seq := range c.Marks {
			messages, err := from.MessageRecords(ctx, c.Ref, seq-1, 1)
			if err != nil {
				return err
			}
			if len(messages) == 0 || messages[0].Seq != seq || seq > last { // it is gone, or written below as it is
				continue
			}
			if err := writeLine(w, markLine{markOf(messages[0]), last}); err != nil {
				return err
			}
		}
		if c.From > 0 {
			last, err = writeAfter(ctx, from, c.Slot, c.Ref, c.From-1, w)
		}
		return err
	})
	return last, err
}

// endOf returns the last message of a file; fits is false if the file is not there, or
// its end is not as this package writes it.
func endOf(path string) (last int64, fits bool, err error) {
	line, torn, err := lastLine(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil || torn {
		return 0, false, err
	}
	if line == nil {
		return 0, true, nil
	}
	var end struct {
		Seq     int64 `json:"seq"`
		Through int64 `json:"through"`
	}
	fits = json.Unmarshal(line, &end) == nil
	return max(end.Seq, end.Through), fits, nil
}
