package gormstore

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func (x *sessionTx) Generation(slot string) (int64, error) {
	row, err := x.context(slot)
	if err != nil {
		return 0, err
	}
	return generation(row.ContextID, row.Revision), nil
}

func (x *sessionTx) Untouched(read *store.SessionContext) (bool, error) {
	var row struct {
		ContextID []byte
		NextSeq   int64
		Revision  int64
		Mode      string
		Pending   bool
	}
	n, err := x.tx.find(&row, `SELECT s.context_id, s.next_seq, s.revision, s.mode,
			EXISTS (SELECT 1 FROM inbound i WHERE i.sid = s.sid AND i.queued IN (?, ?)) AS pending
		FROM slots s WHERE s.sid = ? AND s.name = ?`, inLane, deferred, x.lane.Sid, read.Slot.ID)
	if err != nil || n == 0 {
		return false, err
	}
	return !row.Pending && row.NextSeq == read.NextSeq && row.Mode == string(read.Slot.Mode) && generation(row.ContextID, row.Revision) == read.Generation, nil
}

// sums counts messages.
type sums struct{ Messages, Tokens int64 }

func (x *sessionTx) sum(where string, args ...any) (s sums, err error) {
	_, err = x.tx.find(&s, "SELECT COUNT(*) AS messages, COALESCE(SUM(tokens), 0) AS tokens FROM messages WHERE "+where, args...)
	return s, err
}

// Compact reads the range that is compacted now, never what was before.
func (x *sessionTx) Compact(slot string, gen, through int64, summary *models.SessionMessage, now time.Time) error {
	var c checks
	c.messages([]*models.SessionMessage{summary})
	if c.err != nil {
		return c.err
	}
	row, err := x.context(slot)
	if err != nil {
		return err
	}
	if generation(row.ContextID, row.Revision) != gen {
		return fmt.Errorf("the slot changed meanwhile: %w", store.ErrConflict)
	}
	if through <= row.CompactedThrough || through >= row.NextSeq {
		return fmt.Errorf("compacted through %d of %d to %d: %w", through, row.CompactedThrough+1, row.NextSeq-1, store.ErrInvalid)
	}
	gone, err := x.sum(shown+" AND seq <= ?", row.ContextID, row.CompactedThrough, through)
	if err != nil {
		return err
	}
	earlier, err := x.sum("context_id = ? AND seq = ?", row.ContextID, row.SummarySeq)
	if err != nil {
		return err
	}
	m := summary.Clone()
	m.IsCompacted = true
	if err := insertMessages(x.tx, row.ContextID, row.NextSeq, []*models.SessionMessage{m}); err != nil {
		return err
	}
	if _, err := x.tx.exec(`UPDATE slots SET next_seq = next_seq + 1, message_count = message_count + 1, total_tokens = total_tokens + ?,
			compacted_through = ?, summary_seq = ?, compacted_messages = compacted_messages + ?, compacted_tokens = compacted_tokens + ?,
			revision = revision + 1, shown_from = 0 WHERE sid = ? AND name = ?`,
		m.TokenCount, through, row.NextSeq, gone.Messages+earlier.Messages, gone.Tokens+earlier.Tokens, x.lane.Sid, slot); err != nil {
		return err
	}
	state := "state"
	if !x.lane.DueAt.Valid { // nobody uses it
		state = "CASE WHEN state = 'archived' THEN state ELSE 'compacted' END"
	}
	if _, err := x.tx.exec("UPDATE sessions SET compaction_count = compaction_count + 1, updated_at = ?, state = "+state+" WHERE sid = ?",
		micros(now), x.lane.Sid); err != nil {
		return err
	}
	summary.Seq, summary.Slot, summary.IsCompacted = row.NextSeq, slot, true
	return nil
}

func (x *sessionTx) StopSummaries() error {
	_, err := x.tx.exec("UPDATE slots SET revision = revision + 1 WHERE sid = ?", x.lane.Sid)
	return err
}

func (x *sessionTx) Freeze(slot string, forms []store.PrunedForm) error {
	var c checks
	c.forms(forms)
	if c.err != nil {
		return c.err
	}
	row, err := x.context(slot)
	if err != nil {
		return err
	}
	return freeze(x.tx, row.ContextID, row.NextSeq, forms)
}

func (c *checks) forms(forms []store.PrunedForm) {
	for _, f := range forms {
		c.id("pruned", f.Pruned, 16)
		c.text("pruned content", f.Content, models.MaxContent)
		if c.err == nil && f.Seq <= 0 {
			c.err = fmt.Errorf("pruned form of message %d: %w", f.Seq, store.ErrInvalid)
		}
	}
}

// freeze stores forms of messages before next that have none, or are to be omitted.
// The lane is locked.
func freeze(t *tx, contextID []byte, next int64, forms []store.PrunedForm) error {
	if len(forms) == 0 {
		return nil
	}
	first, last := forms[0].Seq, forms[0].Seq
	for _, f := range forms {
		first, last = min(first, f.Seq), max(last, f.Seq)
	}
	if last >= next {
		return fmt.Errorf("pruned form of message %d: %w", last, store.ErrInvalid)
	}
	var have []struct {
		Seq    int64
		Pruned string
	}
	if _, err := t.find(&have, "SELECT seq, pruned FROM pruned_forms WHERE context_id = ? AND seq BETWEEN ? AND ?", contextID, first, last); err != nil {
		return err
	}
	frozen := make(map[int64]string, len(have)+len(forms))
	for _, h := range have {
		frozen[h.Seq] = h.Pruned
	}
	fresh := make(map[int64]store.PrunedForm, len(forms))
	for _, f := range forms {
		old, has := frozen[f.Seq]
		if !has || f.Pruned == store.PrunedOmitted && old != store.PrunedOmitted {
			frozen[f.Seq], fresh[f.Seq] = f.Pruned, f
		}
	}
	var replaced []any
	for _, h := range have {
		if _, again := fresh[h.Seq]; again {
			replaced = append(replaced, h.Seq)
		}
	}
	if len(replaced) > 0 {
		if _, err := t.exec("DELETE FROM pruned_forms WHERE context_id = ? AND seq IN "+values(1, len(replaced)), append([]any{contextID}, replaced...)...); err != nil {
			return err
		}
	}
	rows := make([][]any, 0, len(fresh))
	for _, seq := range slices.Sorted(maps.Keys(fresh)) {
		rows = append(rows, []any{contextID, seq, fresh[seq].Pruned, fresh[seq].Content})
	}
	return insertRows(t, "INSERT INTO pruned_forms (context_id, seq, pruned, content) VALUES ", rows)
}

func (x *sessionTx) MarkPruned(slot string, through int64) error {
	return x.oneSlot("UPDATE slots SET pruned_through = CASE WHEN ? >= next_seq THEN next_seq - 1 WHEN pruned_through < ? THEN ? ELSE pruned_through END WHERE sid = ? AND name = ?",
		through, through, through, x.lane.Sid, slot)
}

func (x *sessionTx) oneSlot(sql string, args ...any) error {
	if err := x.one(sql, args...); err != nil {
		return fmt.Errorf("slot: %w", err)
	}
	return nil
}

func (x *sessionTx) DropMessages(slot string, through int64, now time.Time) (int, error) {
	row, err := x.context(slot)
	if err != nil {
		return 0, err
	}
	const dropped = "context_id = ? AND seq <= ? AND seq <> ?"
	args := []any{row.ContextID, through, row.SummarySeq}
	var gone struct{ Messages, Tokens, Hidden, HiddenTokens int64 } // hidden: a context does not show them
	const hidden = "SUM(CASE WHEN compacted = 0 AND seq > ? THEN 0 ELSE "
	if _, err := x.tx.find(&gone, "SELECT COUNT(*) AS messages, COALESCE(SUM(tokens), 0) AS tokens, COALESCE("+hidden+"1 END), 0) AS hidden, COALESCE("+
		hidden+"tokens END), 0) AS hidden_tokens FROM messages WHERE "+dropped+" AND undone = 0", append([]any{row.CompactedThrough, row.CompactedThrough}, args...)...); err != nil {
		return 0, err
	}
	n, err := x.tx.exec("DELETE FROM messages WHERE "+dropped, args...)
	if err != nil || n == 0 {
		return 0, err
	}
	if _, err := x.tx.exec("DELETE FROM pruned_forms WHERE context_id = ? AND seq <= ?", row.ContextID, through); err != nil {
		return 0, err
	}
	if _, err := x.tx.exec(`UPDATE slots SET message_count = message_count - ?, total_tokens = total_tokens - ?,
			compacted_messages = compacted_messages - ?, compacted_tokens = compacted_tokens - ?, revision = revision + 1 WHERE sid = ? AND name = ?`,
		gone.Messages, gone.Tokens, gone.Hidden, gone.HiddenTokens, x.lane.Sid, slot); err != nil {
		return 0, err
	}
	return int(n), x.touch(now)
}

// touch notes that the session was changed.
func (x *sessionTx) touch(now time.Time) error {
	_, err := x.tx.exec("UPDATE sessions SET updated_at = ? WHERE sid = ?", micros(now), x.lane.Sid)
	return err
}

// MergeSlot copies inside the database. Seqs keep their distances.
func (x *sessionTx) MergeSlot(from, into string, now time.Time) (int, error) {
	if from == into {
		return 0, fmt.Errorf("a slot is merged into itself: %w", store.ErrInvalid)
	}
	source, err := x.context(from)
	if err != nil {
		return 0, err
	}
	target, err := x.context(into)
	if err != nil {
		return 0, err
	}
	args := []any{source.ContextID, source.MergedThrough}
	sum, err := x.sum(shown, args...)
	if err != nil || sum.Messages == 0 {
		return 0, err
	}
	shift := target.NextSeq - source.MergedThrough - 1
	const rest = "id, role, content, meta, tokens, compacted, undone, created_at"
	if _, err := x.tx.exec("INSERT INTO messages (context_id, seq, turn_seq, "+rest+") SELECT ?, seq + ?, turn_seq + ?, "+rest+
		" FROM messages WHERE "+shown+" ORDER BY seq", append([]any{target.ContextID, shift, shift}, args...)...); err != nil {
		return 0, err
	}
	if err := x.oneSlot("UPDATE slots SET next_seq = ?, message_count = message_count + ?, total_tokens = total_tokens + ? WHERE sid = ? AND name = ?",
		source.NextSeq+shift, sum.Messages, sum.Tokens, x.lane.Sid, into); err != nil {
		return 0, err
	}
	if err := x.oneSlot("UPDATE slots SET merged_through = ?, revision = revision + 1 WHERE sid = ? AND name = ?", source.NextSeq-1, x.lane.Sid, from); err != nil {
		return 0, err
	}
	return int(sum.Messages), x.touch(now)
}

func (x *sessionTx) MarkMerged(slot string, through int64) error {
	return x.oneSlot("UPDATE slots SET revision = revision + 1, merged_through = CASE WHEN ? >= next_seq THEN next_seq - 1 WHEN merged_through < ? THEN ? ELSE merged_through END WHERE sid = ? AND name = ?",
		through, through, through, x.lane.Sid, slot)
}

// derived gives a derived slot what its parent's context shows, if it has all of
// its messages, and notes which messages came from there.
func (x *sessionTx) derived(s *models.ContextSlot, contextID []byte, parent string, last int64) error {
	from, err := x.context(parent)
	if err != nil {
		return err
	}
	if s.Source.Strategy == models.DeriveFocused {
		return x.oneSlot("UPDATE slots SET merged_through = ? WHERE sid = ? AND name = ?", last, x.lane.Sid, s.ID)
	}
	if err := x.oneSlot(`UPDATE slots SET merged_through = ?, compacted_through = ?, summary_seq = ?, compacted_messages = ?, compacted_tokens = ?,
		pruned_through = ? WHERE sid = ? AND name = ?`,
		last, from.CompactedThrough, from.SummarySeq, from.CompactedMessages, from.CompactedTokens, min(from.PrunedThrough, last), x.lane.Sid, s.ID); err != nil {
		return err
	}
	_, err = x.tx.exec("INSERT INTO pruned_forms (context_id, seq, pruned, content) SELECT ?, seq, pruned, content FROM pruned_forms WHERE context_id = ?",
		contextID, from.ContextID)
	return err
}
