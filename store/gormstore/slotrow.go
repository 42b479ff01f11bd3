package gormstore

import (
	"crypto/rand"
	"database/sql"

	"github.com/chatkeep/chatkeep/models"
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
	UserAt       int64
	ModelAt      int64
	ActiveAt     int64
	UpdatedAt    int64
	CreatedAt    int64
	Title        sql.NullString
}

const slotColumns = `name, context_id, mode, focus, source, budget, compact, next_seq, message_count, total_tokens, place,
	user_at, model_at, active_at, updated_at, created_at, title`

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
		ID: r.Name, Title: r.Title.String, SessionKey: key, Mode: models.SlotMode(r.Mode), Focused: focus, Source: source, Budget: budget, Compact: r.Compact != 0,
		MessageCount: int(r.MessageCount), TotalTokens: int(r.TotalTokens), Current: r.Name == current, CreatedAt: fromMicros(r.CreatedAt),
	}, nil
}

// insertSlot stores a slot with a fresh context, which it returns.
func insertSlot(t *tx, sid []byte, s *models.ContextSlot, place, nextSeq int64, g growth) ([]byte, error) {
	contextID := newContextID()
	return contextID, insertSlotRow(t, sid, s, contextID, place, nextSeq, g)
}

func insertSlotRow(t *tx, sid []byte, s *models.ContextSlot, contextID []byte, place, nextSeq int64, g growth) error {
	focus, err := encode(s.Focused, s.Focused == nil)
	if err != nil {
		return err
	}
	source, err := encode(s.Source, false)
	if err != nil {
		return err
	}
	budget, err := encode(s.Budget, s.Budget == nil)
	if err != nil {
		return err
	}
	mode := s.Mode
	if mode == "" {
		mode = models.SlotFull
	}
	_, err = t.exec("INSERT INTO slots (sid, "+slotColumns+", shown_from, results_from) VALUES "+values(1, 20), sid, s.ID, contextID, string(mode), focus, source, budget,
		bit(s.Compact), nextSeq, g.messages, g.tokens, place,
		micros(g.userAt), micros(g.modelAt), micros(g.activeAt), micros(g.now), micros(s.CreatedAt), s.Title, g.shownFrom, g.resultsFrom)
	return err
}

func newContextID() []byte {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	return id
}
