package gormstore

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/chatkeep/chatkeep/store"
)

// Journal tells which sessions changed since it was last asked, for somebody who keeps
// a copy of them up to date. Triggers write it in the transaction that makes a change,
// so it holds every change, whichever process made it and wherever that died. Only an
// SQLite database has one, if [Config].Journal is set.
//
// Its own statements are hidden from the [Observer].
type Journal struct{ s *Store }

// Changed is a sum of what changed of a session besides its messages.
type Changed int

// What changes of a session.
const (
	ChangedSettings Changed = 1 << iota // of its own and of its slots, variables
	ChangedNotes
	ChangedFiles
	// ChangedAll: it was made, moved or deleted; messages too.
	ChangedAll
)

// Changes is a part of the journal.
type Changes struct {
	Sessions []*ChangedSession
	Contexts []*ChangedContext
}

// ChangedSession is a session that changed; it need not exist any more.
type ChangedSession struct {
	Key  string
	What Changed

	sid     []byte
	version int64
}

// ChangedContext is a sequence of messages that changed.
type ChangedContext struct {
	// Key and Slot say whose it is; empty: nobody's any more.
	Key  string
	Slot string
	// Ref names it for MessageRecords.
	Ref string
	// From is the first message that was appended; zero: none was.
	From int64
	// Whole is set if it changed in other ways too.
	Whole bool
	// Marks are messages that were undone or pruned.
	Marks []int64
	// Through is for whoever reads the journal: the last message that he knows now.
	Through int64

	id      []byte
	version int64
}

// maxMarks is from how many marks on a context counts as changed as a whole.
const maxMarks = 500

// openJournal makes the tables and triggers if they are not there as this binary wants
// them, and notes that everything changed.
func (s *Store) openJournal(ctx context.Context) error {
	quiet := &Store{writer: s.writer, reader: s.reader, single: s.single, gorm: s.gorm, dialect: s.dialect, clock: s.clock, log: s.log}
	s.journal = &Journal{quiet}
	return quiet.write(ctx, "open journal", func(t *tx) error {
		have, err := readTriggers(t)
		if err != nil {
			return err
		}
		wanted := triggers()
		same := len(have) == len(wanted)
		for _, w := range wanted {
			same = same && slices.Contains(have, triggerRow{w.sqlName(), w.sql()})
		}
		if same {
			return nil
		}
		if err := dropTriggers(t); err != nil {
			return err
		}
		for sql := range strings.SplitSeq(strings.TrimSpace(journalTables), ";\n") {
			if _, err := t.exec(sql); err != nil {
				return err
			}
		}
		for _, w := range wanted {
			if _, err := t.exec(w.sql()); err != nil {
				return fmt.Errorf("trigger %s: %w", w.name, err)
			}
		}
		return noteAll(t)
	})
}

func noteAll(t *tx) error {
	_, err := t.exec(`INSERT INTO journal_sessions (sid, session_key, what, version) SELECT sid, session_key, ?, 1 FROM sessions WHERE true
		ON CONFLICT (sid) DO UPDATE SET what = excluded.what, version = version + 1`, int(ChangedAll))
	return err
}

// ChangeAll notes all sessions as changed.
func (j *Journal) ChangeAll(ctx context.Context) error {
	return j.s.write(ctx, "note all sessions", noteAll)
}

type triggerRow struct{ Name, SQL string }

func readTriggers(t *tx) (have []triggerRow, err error) {
	_, err = t.find(&have, "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'journal!_%' ESCAPE '!'")
	return have, err
}

// dropTriggers also takes the triggers of a journal out of a migration's way. Whoever
// opens the journal makes them again.
func dropTriggers(t *tx) error {
	have, err := readTriggers(t)
	if err != nil {
		return err
	}
	for _, h := range have {
		if _, err := t.exec("DROP TRIGGER " + h.Name); err != nil {
			return err
		}
	}
	return nil
}

// Journal returns the journal; nil if there is none.
func (s *Store) Journal() *Journal { return s.journal }

// Changes returns some of what changed, at most limit sessions and limit contexts.
func (j *Journal) Changes(ctx context.Context, limit int) (*Changes, error) {
	out := &Changes{}
	err := j.s.read(ctx, "read journal", func(t *tx) error {
		*out = Changes{}
		if err := j.sessions(t, out, limit); err != nil {
			return err
		}
		return j.contexts(t, out, limit)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (j *Journal) sessions(t *tx, out *Changes, limit int) error {
	var rows []struct {
		Sid        []byte
		SessionKey string
		What       int
		Version    int64
	}
	if _, err := t.find(&rows, "SELECT sid, session_key, what, version FROM journal_sessions LIMIT ?", limit); err != nil {
		return err
	}
	for _, r := range rows {
		out.Sessions = append(out.Sessions, &ChangedSession{Key: r.SessionKey, What: Changed(r.What), sid: r.Sid, version: r.Version})
	}
	return nil
}

func (j *Journal) contexts(t *tx, out *Changes, limit int) error {
	var rows []struct {
		ContextID  []byte
		FromSeq    int64
		Whole      int
		Version    int64
		SessionKey string
		Slot       string
	}
	if _, err := t.find(&rows, `SELECT j.context_id, j.from_seq, j.whole, j.version, COALESCE(l.session_key, '') AS session_key, COALESCE(s.name, '') AS slot
		FROM journal_contexts j LEFT JOIN slots s {index journal_slots} ON s.context_id = j.context_id LEFT JOIN lanes l ON l.sid = s.sid LIMIT ?`, limit); err != nil {
		return err
	}
	for _, r := range rows {
		c := &ChangedContext{
			Key: r.SessionKey, Slot: r.Slot, Ref: hex.EncodeToString(r.ContextID), Whole: r.Whole != 0, id: r.ContextID, version: r.Version,
		}
		if r.FromSeq < noBound {
			c.From = r.FromSeq
		}
		if _, err := t.find(&c.Marks, "SELECT seq FROM journal_marks WHERE context_id = ? ORDER BY seq LIMIT ?", r.ContextID, maxMarks); err != nil {
			return err
		}
		c.Whole = c.Whole || len(c.Marks) == maxMarks
		out.Contexts = append(out.Contexts, c)
	}
	return nil
}

// Forget removes changes from the journal that somebody knows now. What changed again
// since they were read stays.
func (j *Journal) Forget(ctx context.Context, c *Changes) error {
	return j.s.write(ctx, "forget changes", func(t *tx) error {
		for _, s := range c.Sessions {
			if _, err := t.exec("DELETE FROM journal_sessions WHERE sid = ? AND version = ?", s.sid, s.version); err != nil {
				return err
			}
		}
		for _, x := range c.Contexts {
			n, err := t.exec("DELETE FROM journal_contexts WHERE context_id = ? AND version = ?", x.id, x.version)
			if err != nil {
				return err
			}
			sql := "DELETE FROM journal_marks WHERE context_id = ?"
			args := []any{x.id}
			if n == 0 { // what was appended meanwhile comes after what is known
				sql, args = "UPDATE journal_contexts SET from_seq = max(from_seq, ?) WHERE context_id = ?", []any{x.Through + 1, x.id}
			}
			if _, err := t.exec(sql, args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// SessionRecord is that of the store.
func (j *Journal) SessionRecord(ctx context.Context, key string) (*store.SessionRecord, error) {
	return j.s.SessionRecord(ctx, key)
}

// MessageRecords is that of the store.
func (j *Journal) MessageRecords(ctx context.Context, ref string, after int64, limit int) ([]*store.MessageRecord, error) {
	return j.s.MessageRecords(ctx, ref, after, limit)
}
