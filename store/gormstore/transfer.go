package gormstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// contextRecordRow is a slot, or what a reset set aside, as it is carried elsewhere.
type contextRecordRow struct {
	Slot             slotRow `gorm:"embedded"`
	CompactedThrough int64
	SummarySeq       int64
	MergedThrough    int64
	PrunedThrough    int64
	ShownFrom        int64
	ResultsFrom      int64
	ResetAt          int64
}

const contextState = "compacted_through, summary_seq, merged_through, pruned_through"

func (r *contextRecordRow) model(key, current string) (*store.ContextRecord, error) {
	slot, err := r.Slot.model(key, current)
	if err != nil {
		return nil, err
	}
	return &store.ContextRecord{
		Slot: *slot, SetAsideAt: fromMicros(r.ResetAt), NextSeq: r.Slot.NextSeq,
		SummarySeq: r.SummarySeq, CompactedThrough: r.CompactedThrough, MergedThrough: r.MergedThrough, PrunedThrough: r.PrunedThrough,
		ModelAt: fromMicros(r.Slot.ModelAt), ShownFrom: r.ShownFrom, ResultsFrom: r.ResultsFrom, Ref: hex.EncodeToString(r.Slot.ContextID),
	}, nil
}

// SessionRecord returns all of a session but its messages.
func (s *Store) SessionRecord(ctx context.Context, key string) (*store.SessionRecord, error) {
	var out *store.SessionRecord
	err := s.read(ctx, "session record", func(t *tx) error {
		row, err := findSession(t, sidOf(key))
		if err != nil {
			return err
		}
		out = &store.SessionRecord{Session: *row.model()}
		if out.Contexts, err = contextRecords(t, &row); err != nil {
			return err
		}
		return readNotebook(t, row.Sid, out)
	})
	return out, err
}

func contextRecords(t *tx, session *sessionRow) ([]*store.ContextRecord, error) {
	var slots, aside []contextRecordRow
	if _, err := t.find(&slots, "SELECT "+slotColumns+", "+contextState+", shown_from, results_from FROM slots WHERE sid = ? ORDER BY place", session.Sid); err != nil {
		return nil, err
	}
	if _, err := t.find(&aside, "SELECT slot AS name, context_id, next_seq, "+contextState+", reset_at FROM resets WHERE sid = ? ORDER BY place",
		session.Sid); err != nil {
		return nil, err
	}
	out := make([]*store.ContextRecord, 0, len(slots)+len(aside))
	for _, rows := range [][]contextRecordRow{slots, aside} {
		for i := range rows {
			c, err := rows[i].model(session.SessionKey, session.CurrentSlot)
			if err != nil {
				return nil, err
			}
			out = append(out, c)
		}
	}
	return out, nil
}

func readNotebook(t *tx, sid []byte, out *store.SessionRecord) error {
	var notes []noteRow
	if _, err := t.find(&notes, "SELECT id, note_key, value, created_at FROM notes WHERE sid = ? ORDER BY place LIMIT ?", sid, models.MaxNotes); err != nil {
		return err
	}
	for i := range notes {
		out.Notes = append(out.Notes, notes[i].model())
	}
	var named []struct{ Kind, Name, Value string }
	if _, err := t.find(&named, `SELECT 'variable' AS kind, name, value FROM variables WHERE sid = ?
		UNION ALL SELECT 'file', name, content FROM plan_files WHERE sid = ?`, sid, sid); err != nil {
		return err
	}
	out.Variables, out.Files = map[string]json.RawMessage{}, map[string]string{}
	for _, n := range named {
		if n.Kind == "file" {
			out.Files[n.Name] = n.Value
		} else {
			out.Variables[n.Name] = json.RawMessage(n.Value)
		}
	}
	return nil
}

// messageRecordRow is a message with its form.
type messageRecordRow struct {
	Message       messageRow `gorm:"embedded"`
	Undone        int
	Pruned        sql.NullString
	PrunedContent sql.NullString
}

// maxRecordBytes bounds what is read of a context at once, one message apart.
const maxRecordBytes = 4 << 20

// MessageRecords reads one range of the clustered key, sizes first.
func (s *Store) MessageRecords(ctx context.Context, ref string, after int64, limit int) ([]*store.MessageRecord, error) {
	id, err := hex.DecodeString(ref)
	if err != nil {
		return nil, fmt.Errorf("message records: context %q: %w", ref, store.ErrInvalid)
	}
	var rows []messageRecordRow
	err = s.read(ctx, "message records", func(t *tx) error {
		rows = nil
		var sizes []struct{ Seq, Size int64 }
		if _, err := t.find(&sizes, "SELECT seq, OCTET_LENGTH(content) + COALESCE(OCTET_LENGTH(meta), 0) AS size FROM messages WHERE context_id = ? AND seq > ? ORDER BY seq LIMIT ?",
			id, after, pageSize(limit)); err != nil || len(sizes) == 0 {
			return err
		}
		last, bytes := sizes[0].Seq, sizes[0].Size
		for _, m := range sizes[1:] {
			if bytes += m.Size; bytes > maxRecordBytes {
				break
			}
			last = m.Seq
		}
		_, err := t.find(&rows, `SELECT m.seq, m.turn_seq, m.id, m.role, m.content, m.meta, m.tokens, m.compacted, m.undone, m.created_at,
			f.pruned, f.content AS pruned_content FROM messages m LEFT JOIN pruned_forms f ON f.context_id = m.context_id AND f.seq = m.seq
			WHERE m.context_id = ? AND m.seq > ? AND m.seq <= ? ORDER BY m.seq`, id, after, last)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]*store.MessageRecord, len(rows))
	for i := range rows {
		r := &rows[i]
		m, err := r.Message.model("")
		if err != nil {
			return nil, wrap("message records", err)
		}
		out[i] = &store.MessageRecord{SessionMessage: *m, Turn: r.Message.TurnSeq, Undone: r.Undone != 0}
		if r.Pruned.Valid {
			out[i].Form = &store.PrunedForm{Seq: m.Seq, Pruned: r.Pruned.String, Content: r.PrunedContent.String}
		}
	}
	return out, nil
}
