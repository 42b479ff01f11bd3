package gormstore

import (
	"crypto/rand"
	"database/sql"
	"time"

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
}

const (
	sessionColumns = `e.sid, e.session_key, e.agent_id, e.channel, e.account, e.scope, e.scope_id, e.state, e.title, e.model,
		e.system_prompt, e.pinned, e.message_count, e.total_tokens, e.compaction_count, e.compacted_summary, e.observed_seq,
		e.last_user_at, e.last_activity_at, e.created_at, e.updated_at, l.slot AS current_slot`
	fromSessions = ` FROM sessions e JOIN lanes l ON l.sid = e.sid`
)

func (r *sessionRow) model() *models.Session {
	return &models.Session{
		Key: r.SessionKey, AgentID: r.AgentID, Channel: r.Channel, Account: r.Account, Scope: models.Scope(r.Scope), ScopeID: r.ScopeID,
		State: models.SessionState(r.State), Title: r.Title, Model: r.Model, SystemPrompt: r.SystemPrompt, Pinned: r.Pinned != 0,
		MessageCount: r.MessageCount, TotalTokenCount: r.TotalTokens, CompactionCount: r.CompactionCount, CompactedSummary: r.CompactedSummary,
		CurrentSlot: r.CurrentSlot, CreatedAt: fromMicros(r.CreatedAt), LastActivityAt: fromMicros(r.LastActivityAt),
		UpdatedAt: fromMicros(r.UpdatedAt), LastUserAt: fromNull(r.LastUserAt),
	}
}

// insertSession stores a session and its default slot, which it returns.
func insertSession(t *tx, sid []byte, s *models.Session, g growth) (contextID []byte, err error) {
	state := s.State
	if state == "" {
		state = models.SessionActive
	}
	created := s.CreatedAt
	if created.IsZero() {
		created = g.now
	}
	updated, active := s.UpdatedAt, s.LastActivityAt
	if updated.IsZero() {
		updated = g.now
	}
	if active.IsZero() {
		active = g.activeAt
	}
	user := s.LastUserAt
	if !g.userAt.IsZero() {
		user, state = g.userAt, models.SessionActive
	}
	const columns = `sid, session_key, agent_id, channel, account, scope, scope_id, state, title, model, system_prompt, pinned,
		message_count, total_tokens, compaction_count, compacted_summary, observed_seq, last_user_at, model_at, last_activity_at, created_at, updated_at`
	if _, err = t.exec("INSERT INTO sessions ("+columns+") VALUES "+values(1, 22),
		sid, s.Key, s.AgentID, s.Channel, s.Account, string(s.Scope), s.ScopeID, string(state), s.Title, s.Model, s.SystemPrompt, bit(s.Pinned),
		g.messages, g.tokens, s.CompactionCount, s.CompactedSummary, g.observed, nullMicros(user), nullMicros(g.modelAt), micros(active), micros(created), micros(updated)); err != nil {
		return nil, err
	}
	slot := &models.ContextSlot{ID: models.DefaultSlot, Mode: models.SlotFull, Source: models.SlotSource{Kind: models.SlotNew}, Compact: true, CreatedAt: created}
	return insertSlot(t, sid, slot, 1, 1+g.messages, g.messages, g.tokens)
}

// growth is what an append adds to the counters.
type growth struct {
	messages, tokens int64
	// channel and account of the latest user message; empty leaves them.
	channel, account string
	userAt, modelAt  time.Time
	observed         int64
	// activeAt is when the session was used, now when this is written.
	activeAt, now time.Time
}

// grow updates the counters of a session and, if it gained messages, of a slot.
func grow(t *tx, sid []byte, slot string, g growth) error {
	var channel, account, state any
	if g.channel != "" {
		channel, account = g.channel, g.account
	}
	if !g.userAt.IsZero() {
		state = string(models.SessionActive)
	}
	session := []any{g.messages, g.tokens, channel, account, state, micros(g.userAt), micros(g.userAt), nullMicros(g.modelAt), g.observed, g.observed, micros(g.activeAt), micros(g.activeAt), micros(g.now)}
	if g.messages == 0 {
		_, err := t.exec(growSession, append(session, sid)...)
		return err
	}
	if t.dialect.driver == MySQL {
		_, err := t.exec(growBoth, append(session, g.messages, g.messages, g.tokens, sid, slot)...)
		return err
	}
	if _, err := t.exec(growSlot, g.messages, g.messages, g.tokens, sid, slot); err != nil {
		return err
	}
	_, err := t.exec(growSession, append(session, sid)...)
	return err
}

const (
	growSession = `UPDATE sessions SET message_count = message_count + ?, total_tokens = total_tokens + ?,
		channel = COALESCE(?, channel), account = COALESCE(?, account), state = COALESCE(?, state),
		last_user_at = CASE WHEN COALESCE(last_user_at, 0) < ? THEN ? ELSE last_user_at END, model_at = COALESCE(?, model_at),
		observed_seq = CASE WHEN observed_seq < ? THEN ? ELSE observed_seq END,
		last_activity_at = CASE WHEN last_activity_at < ? THEN ? ELSE last_activity_at END, updated_at = ? WHERE sid = ?`
	growSlot = `UPDATE slots SET next_seq = next_seq + ?, message_count = message_count + ?, total_tokens = total_tokens + ? WHERE sid = ? AND name = ?`
	// growBoth saves a round trip where there is one.
	growBoth = `UPDATE sessions e JOIN slots s ON s.sid = e.sid SET e.message_count = e.message_count + ?, e.total_tokens = e.total_tokens + ?,
		e.channel = COALESCE(?, e.channel), e.account = COALESCE(?, e.account), e.state = COALESCE(?, e.state),
		e.last_user_at = CASE WHEN COALESCE(e.last_user_at, 0) < ? THEN ? ELSE e.last_user_at END, e.model_at = COALESCE(?, e.model_at),
		e.observed_seq = CASE WHEN e.observed_seq < ? THEN ? ELSE e.observed_seq END,
		e.last_activity_at = CASE WHEN e.last_activity_at < ? THEN ? ELSE e.last_activity_at END, e.updated_at = ?,
		s.next_seq = s.next_seq + ?, s.message_count = s.message_count + ?, s.total_tokens = s.total_tokens + ?
		WHERE e.sid = ? AND s.name = ?`
)

// slotRow is a row of slots.
type slotRow struct {
	Name         string
	ContextID    []byte
	Mode         string
	Focus        sql.NullString
	Source       sql.NullString
	Budget       sql.NullString
	Compact      int
	NextSeq      int64
	MessageCount int64
	TotalTokens  int64
	Place        int64
	CreatedAt    int64
}

const slotColumns = `name, context_id, mode, focus, source, budget, compact, next_seq, message_count, total_tokens, place, created_at`

func (r *slotRow) model(key, current string) (*models.ContextSlot, error) {
	focus, err := decode[*models.Focus](r.Focus)
	if err != nil {
		return nil, err
	}
	source, err := decode[models.SlotSource](r.Source)
	if err != nil {
		return nil, err
	}
	budget, err := decode[*models.Budget](r.Budget)
	if err != nil {
		return nil, err
	}
	return &models.ContextSlot{
		ID: r.Name, SessionID: key, Mode: models.SlotMode(r.Mode), Focused: focus, Source: source, Budget: budget, Compact: r.Compact != 0,
		MessageCount: int(r.MessageCount), TotalTokens: int(r.TotalTokens), Current: r.Name == current, CreatedAt: fromMicros(r.CreatedAt),
	}, nil
}

// insertSlot stores a slot with a fresh context, which it returns.
func insertSlot(t *tx, sid []byte, s *models.ContextSlot, place, nextSeq, messages, tokens int64) ([]byte, error) {
	focus, err := encode(s.Focused, s.Focused == nil)
	if err != nil {
		return nil, err
	}
	source, err := encode(s.Source, false)
	if err != nil {
		return nil, err
	}
	budget, err := encode(s.Budget, s.Budget == nil)
	if err != nil {
		return nil, err
	}
	mode := s.Mode
	if mode == "" {
		mode = models.SlotFull
	}
	contextID := newContextID()
	_, err = t.exec("INSERT INTO slots (sid, "+slotColumns+") VALUES "+values(1, 13), sid, s.ID, contextID, string(mode), focus, source, budget,
		bit(s.Compact), nextSeq, messages, tokens, place, micros(s.CreatedAt))
	return contextID, err
}

func newContextID() []byte {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	return id
}
