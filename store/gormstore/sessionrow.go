package gormstore

import (
	"cmp"
	"database/sql"

	"github.com/chatkeep/chatkeep/models"
)

// sessionRow is a row of sessions beside its lane.
type sessionRow struct {
	Sid              []byte
	SessionKey       string
	AgentID          string
	Channel          string
	Account          string
	Scope            string
	ScopeID          string
	State            string
	Title            string
	Model            string
	SystemPrompt     string
	Pinned           int
	MessageCount     int
	TotalTokens      int
	CompactionCount  int
	CompactedSummary string
	ObservedSeq      int64
	LastUserAt       sql.NullInt64
	LastActivityAt   int64
	CreatedAt        int64
	UpdatedAt        int64
	CurrentSlot      string
	// The latest of all slots.
	SlotUserAt, SlotActiveAt, SlotUpdatedAt int64
}

const (
	sessionColumns = `e.sid, e.session_key, e.agent_id, e.channel, e.account, e.scope, e.scope_id, e.state, e.title, e.model,
		e.system_prompt, e.pinned, e.compaction_count, e.observed_seq,
		e.last_user_at, e.last_activity_at, e.created_at, e.updated_at, l.slot AS current_slot,
		COALESCE((SELECT m.content FROM slots s JOIN messages m ON m.context_id = s.context_id AND m.seq = s.summary_seq
			WHERE s.sid = e.sid AND s.name = l.slot), '') AS compacted_summary,
		COALESCE((SELECT SUM(s.message_count) FROM slots s WHERE s.sid = e.sid), 0) AS message_count,
		COALESCE((SELECT SUM(s.total_tokens) FROM slots s WHERE s.sid = e.sid), 0) AS total_tokens,
		COALESCE((SELECT MAX(s.user_at) FROM slots s WHERE s.sid = e.sid), 0) AS slot_user_at,
		COALESCE((SELECT MAX(s.active_at) FROM slots s WHERE s.sid = e.sid), 0) AS slot_active_at,
		COALESCE((SELECT MAX(s.updated_at) FROM slots s WHERE s.sid = e.sid), 0) AS slot_updated_at`
	fromSessions = ` FROM sessions e JOIN lanes l ON l.sid = e.sid`
)

// leftSummary is what sessions and resets have in their column compacted_summary, which
// only earlier versions read: a summary is read from its slot.
const leftSummary = ""

func (r *sessionRow) model() *models.Session {
	return &models.Session{
		Key: r.SessionKey, AgentID: r.AgentID, Channel: r.Channel, Account: r.Account, Scope: models.Scope(r.Scope), ScopeID: r.ScopeID,
		State: models.SessionState(r.State), Title: r.Title, Model: r.Model, SystemPrompt: r.SystemPrompt, Pinned: r.Pinned != 0,
		MessageCount: r.MessageCount, TotalTokenCount: r.TotalTokens, CompactionCount: r.CompactionCount, CompactedSummary: r.CompactedSummary,
		CurrentSlot: r.CurrentSlot, CreatedAt: fromMicros(r.CreatedAt), LastActivityAt: fromMicros(max(r.LastActivityAt, r.SlotActiveAt)),
		UpdatedAt: fromMicros(max(r.UpdatedAt, r.SlotUpdatedAt)), LastUserAt: fromMicros(max(r.LastUserAt.Int64, r.SlotUserAt)),
	}
}

// insertSession stores a session and its default slot, which it returns.
func insertSession(t *tx, sid []byte, s *models.Session, g growth) (contextID []byte, err error) {
	row := *s
	row.State = cmp.Or(s.State, models.SessionActive)
	if s.CreatedAt.IsZero() {
		row.CreatedAt = g.now
	}
	if s.UpdatedAt.IsZero() {
		row.UpdatedAt = g.now
	}
	if s.LastActivityAt.IsZero() {
		row.LastActivityAt = g.activeAt
	}
	if !g.userAt.IsZero() {
		row.LastUserAt, row.State = g.userAt, models.SessionActive
	}
	if err := insertSessionRow(t, sid, &row, g.observed); err != nil {
		return nil, err
	}
	slot := &models.ContextSlot{ID: models.DefaultSlot, Mode: models.SlotFull, Source: models.SlotSource{Kind: models.SlotNew}, Compact: true, CreatedAt: row.CreatedAt}
	return insertSlot(t, sid, slot, 1, 1+g.messages, growth{
		messages: g.messages, tokens: g.tokens, modelAt: g.modelAt, shownFrom: g.shownFrom, resultsFrom: g.resultsFrom,
	})
}

// insertSessionRow stores a session without slots, as it is.
func insertSessionRow(t *tx, sid []byte, s *models.Session, observed int64) error {
	const columns = `sid, session_key, agent_id, channel, account, scope, scope_id, state, title, model, system_prompt, pinned,
		compaction_count, compacted_summary, observed_seq, last_user_at, last_activity_at, created_at, updated_at`
	_, err := t.exec("INSERT INTO sessions ("+columns+") VALUES "+values(1, 19),
		sid, s.Key, s.AgentID, s.Channel, s.Account, string(s.Scope), s.ScopeID, string(s.State), s.Title, s.Model, s.SystemPrompt, bit(s.Pinned),
		s.CompactionCount, leftSummary, observed, nullMicros(s.LastUserAt), micros(s.LastActivityAt), micros(s.CreatedAt), micros(s.UpdatedAt))
	return err
}
