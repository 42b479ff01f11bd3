package gormstore

import (
	"database/sql"
	"fmt"

	"github.com/chatkeep/chatkeep/models"
)

// messageRow is a row of messages.
type messageRow struct {
	Seq       int64
	TurnSeq   int64
	ID        string
	Role      string
	Content   string
	Meta      sql.NullString
	Tokens    int
	Compacted int
	CreatedAt int64
}

const messageColumns = `seq, turn_seq, id, role, content, meta, tokens, compacted, created_at`

// messageMeta holds what few messages have and no query asks for.
type messageMeta struct {
	Images            []string          `json:"images,omitempty"`
	ToolCalls         []models.ToolCall `json:"toolCalls,omitempty"`
	ToolCallID        string            `json:"toolCallId,omitempty"`
	SenderID          string            `json:"senderId,omitempty"`
	SenderAltIDs      []string          `json:"senderAltIds,omitempty"`
	SenderName        string            `json:"senderName,omitempty"`
	PlatformMessageID string            `json:"platformMessageId,omitempty"`
	Reasoning         *string           `json:"reasoning,omitempty"`
	Observed          bool              `json:"observed,omitempty"`
	Quote             *models.Quote     `json:"quote,omitempty"`
	ContextTokens     int               `json:"contextTokens,omitempty"`
}

func metaOf(m *models.SessionMessage) (any, error) {
	meta := messageMeta{
		Images: m.Images, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID, SenderID: m.SenderID, SenderName: m.SenderName,
		PlatformMessageID: m.PlatformMessageID, Reasoning: m.Reasoning, Observed: m.Observed, Quote: m.Quote, SenderAltIDs: m.SenderAltIDs,
		ContextTokens: m.ContextTokens,
	}
	empty := len(m.Images) == 0 && len(m.ToolCalls) == 0 && m.ToolCallID == "" && m.SenderID == "" && m.SenderName == "" &&
		m.PlatformMessageID == "" && m.Reasoning == nil && !m.Observed && m.Quote == nil && m.ContextTokens == 0 && len(m.SenderAltIDs) == 0
	return encode(meta, empty)
}

func (r *messageRow) model(slot string) (*models.SessionMessage, error) {
	meta, err := decode[messageMeta](r.Meta)
	if err != nil {
		return nil, fmt.Errorf("message %s: meta: %w", r.ID, err)
	}
	return &models.SessionMessage{
		ID: r.ID, Seq: r.Seq, Slot: slot, Role: models.Role(r.Role), Content: r.Content, Images: meta.Images,
		ToolCalls: meta.ToolCalls, ToolCallID: meta.ToolCallID, TokenCount: r.Tokens, IsCompacted: r.Compacted != 0,
		SenderID: meta.SenderID, SenderName: meta.SenderName, PlatformMessageID: meta.PlatformMessageID,
		CreatedAt: fromMicros(r.CreatedAt), Reasoning: meta.Reasoning, Observed: meta.Observed, Quote: meta.Quote, SenderAltIDs: meta.SenderAltIDs,
		ContextTokens: meta.ContextTokens,
	}, nil
}

func messageModels(rows []messageRow, slot string) ([]*models.SessionMessage, error) {
	out := make([]*models.SessionMessage, len(rows))
	for i := range rows {
		m, err := rows[i].model(slot)
		if err != nil {
			return nil, err
		}
		out[i] = m
	}
	return out, nil
}

// insertMessages appends messages to a context, from a place on, as one turn.
func insertMessages(t *tx, contextID []byte, from int64, messages []*models.SessionMessage) error {
	rows := make([][]any, len(messages))
	for i, m := range messages {
		meta, err := metaOf(m)
		if err != nil {
			return err
		}
		rows[i] = []any{contextID, from + int64(i), from, m.ID, string(m.Role), m.Content, meta, m.TokenCount, bit(m.IsCompacted), 0, micros(m.CreatedAt)}
	}
	return insertRows(t, "INSERT INTO messages (context_id, seq, turn_seq, id, role, content, meta, tokens, compacted, undone, created_at) VALUES ", rows)
}

func tokensOf(messages []*models.SessionMessage) (n int64) {
	for _, m := range messages {
		n += int64(m.TokenCount)
	}
	return n
}
