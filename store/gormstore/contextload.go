package gormstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// loadedRow is a session with one of its slots.
type loadedRow struct {
	Session           sessionRow `gorm:"embedded"`
	Slot              slotRow    `gorm:"embedded;embeddedPrefix:s_"`
	CompactedThrough  int64
	CompactedMessages int64
	CompactedTokens   int64
	SummarySeq        int64
	MergedThrough     int64
	Revision          int64
	NextSeq           int64
	ShownFrom         int64
	ResultsFrom       int64
	SlotModelAt       int64 // the latest of all slots
}

const loadedColumns = sessionColumns + `, COALESCE(s.name, '') AS s_name, s.context_id AS s_context_id, COALESCE(s.mode, '') AS s_mode,
	s.focus AS s_focus, s.source AS s_source, s.budget AS s_budget, COALESCE(s.compact, 0) AS s_compact,
	COALESCE(s.message_count, 0) AS s_message_count, COALESCE(s.total_tokens, 0) AS s_total_tokens, COALESCE(s.created_at, 0) AS s_created_at,
	COALESCE(s.compacted_through, 0) AS compacted_through, COALESCE(s.compacted_messages, 0) AS compacted_messages,
	COALESCE(s.compacted_tokens, 0) AS compacted_tokens, COALESCE(s.summary_seq, 0) AS summary_seq,
	COALESCE(s.merged_through, 0) AS merged_through, COALESCE(s.revision, 0) AS revision, COALESCE(s.next_seq, 0) AS next_seq,
	COALESCE(s.shown_from, 0) AS shown_from, COALESCE(s.results_from, 0) AS results_from,
	COALESCE((SELECT MAX(o.model_at) FROM slots o WHERE o.sid = e.sid), 0) AS slot_model_at`

// LoadContext reads what a turn needs by three statements; an empty slot means the
// current one.
func (s *Store) LoadContext(ctx context.Context, key, slot string, limit int) (*store.SessionContext, error) {
	var out *store.SessionContext
	err := s.read(ctx, "load context", func(t *tx) error {
		out = &store.SessionContext{}
		var row loadedRow
		sql, args := "SELECT "+loadedColumns+fromSessions+" LEFT JOIN slots s ON s.sid = e.sid AND s.name = ? WHERE e.sid = ?", []any{slot, sidOf(key)}
		if slot == "" {
			sql, args = "SELECT "+loadedColumns+fromSessions+" LEFT JOIN slots s ON s.sid = e.sid AND s.name = l.slot WHERE e.sid = ?", args[1:]
		}
		n, err := t.find(&row, sql, args...)
		if err != nil || n == 0 {
			return err
		}
		out.Session, out.ObservedSeq = row.Session.model(), row.Session.ObservedSeq
		out.ModelAt = fromMicros(row.SlotModelAt)
		if row.Slot.Name == "" {
			return loadAside(t, row.Session.Sid, nil, out)
		}
		if out.Slot, err = row.Slot.model(key, row.Session.CurrentSlot); err != nil {
			return err
		}
		out.Generation, out.NextSeq = generation(row.Slot.ContextID, row.Revision), row.NextSeq
		out.LiveMessages = int(row.Slot.MessageCount - row.CompactedMessages)
		out.LiveTokens = int(row.Slot.TotalTokens - row.CompactedTokens)
		out.MergedThrough, out.ShownFrom, out.ResultsFrom = row.MergedThrough, row.ShownFrom, row.ResultsFrom
		if err := loadMessages(t, &row, limit, out); err != nil {
			return err
		}
		return loadAside(t, row.Session.Sid, row.Slot.ContextID, out)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Generation reads one row.
func (s *Store) Generation(ctx context.Context, key, slot string) (gen int64, err error) {
	err = s.read(ctx, "generation", func(t *tx) error {
		var row contextRow
		n, err := t.find(&row, "SELECT s.context_id, s.revision FROM slots s JOIN sessions e ON e.sid = s.sid WHERE s.sid = ? AND s.name = ?", sidOf(key), slot)
		if err == nil && n == 0 {
			err = fmt.Errorf("generation: %w", store.ErrNotFound)
		}
		if err != nil {
			return err
		}
		gen = generation(row.ContextID, row.Revision)
		return nil
	})
	return gen, err
}

// contextPart says what of a context a message is.
type contextPart int

const (
	partMessages contextPart = iota
	partSummary
	partSystem
)

// The parts of a context, each one range of the clustered key.
var (
	newestPart  = "{part}SELECT " + lightColumns + ", 0 AS part FROM messages WHERE " + shown + " ORDER BY seq DESC LIMIT ?{/part}"
	summaryPart = " UNION ALL SELECT " + lightColumns + ", 1 FROM messages WHERE context_id = ? AND seq = ?"
	systemPart  = " UNION ALL {part}SELECT " + lightColumns + ", 2 FROM messages WHERE context_id = ? AND undone = 0 AND compacted = 0 AND role = ?" +
		" AND seq < (SELECT MIN(o.seq) FROM messages o WHERE o.context_id = ?) + ? ORDER BY seq LIMIT 1{/part}"
)

// loadMessages reads the newest messages behind the compaction, the summary of what
// is before it, and the system message that a focus keeps.
func loadMessages(t *tx, row *loadedRow, limit int, out *store.SessionContext) error {
	id := row.Slot.ContextID
	sql, args := newestPart, []any{id, row.CompactedThrough, max(limit, 0)}
	if row.SummarySeq > 0 {
		sql, args = sql+summaryPart, append(args, id, row.SummarySeq)
	}
	if f := out.Slot.Focused; out.Slot.Mode == models.SlotFocused && f != nil && f.KeepSystem {
		sql, args = sql+systemPart, append(args, id, string(models.RoleSystem), id, store.FirstSystemRange)
	}
	var light []lightRow
	if _, err := t.find(&light, sql, args...); err != nil {
		return err
	}
	slices.SortFunc(light, func(a, b lightRow) int {
		return cmp.Or(cmp.Compare(a.Message.Seq, b.Message.Seq), cmp.Compare(a.Part, b.Part))
	})
	light = slices.CompactFunc(light, func(a, b lightRow) bool { return a.Message.Seq == b.Message.Seq })
	omitted, err := loadHeavy(t, row.Slot.ContextID, light)
	if err != nil {
		return err
	}
	rows := make([]messageRow, len(light))
	for i := range light {
		rows[i] = light[i].Message
	}
	messages, err := messageModels(rows, row.Slot.Name)
	if err != nil {
		return err
	}
	for _, m := range messages {
		m.ImagesOmitted = omitted[m.Seq]
	}
	for i, m := range messages {
		switch light[i].Part {
		case partMessages:
			out.Messages = append(out.Messages, m)
		case partSummary:
			out.Summary = m
		case partSystem:
			out.FirstSystem = m
		}
	}
	return nil
}

// asideRow is a note, a variable or a pruned form.
type asideRow struct {
	Kind string
	Name string
	Tag  string
	Text string
	At   int64
	// Place orders notes.
	Place int64
}

// loadAside reads what stands beside the messages.
func loadAside(t *tx, sid, contextID []byte, out *store.SessionContext) error {
	const notes = "{part}SELECT 'note' AS kind, id AS name, COALESCE(note_key, '') AS tag, value AS text, created_at AS at, place FROM notes WHERE sid = ? ORDER BY place DESC LIMIT ?{/part}"
	sql := notes + " UNION ALL SELECT 'variable', name, '', value, 0, 0 FROM variables WHERE sid = ?"
	args := []any{sid, store.ContextNotes, sid}
	if len(out.Messages) > 0 {
		sql += " UNION ALL SELECT 'form', '', pruned, content, seq, 0 FROM pruned_forms WHERE context_id = ? AND seq >= ?"
		args = append(args, contextID, out.Messages[0].Seq)
	}
	var rows []asideRow
	if _, err := t.find(&rows, sql, args...); err != nil {
		return err
	}
	slices.SortStableFunc(rows, func(a, b asideRow) int { return cmp.Compare(b.Place, a.Place) })
	out.Variables = map[string]json.RawMessage{}
	for _, r := range rows {
		switch r.Kind {
		case "note":
			out.Notes = append(out.Notes, &models.Note{ID: r.Name, Key: r.Tag, Value: r.Text, CreatedAt: fromMicros(r.At)})
		case "variable":
			out.Variables[r.Name] = json.RawMessage(r.Text)
		default:
			if out.Forms == nil {
				out.Forms = map[int64]store.PrunedForm{}
			}
			out.Forms[r.At] = store.PrunedForm{Seq: r.At, Pruned: r.Tag, Content: r.Text}
		}
	}
	return nil
}
