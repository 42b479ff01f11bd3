package slot

import (
	"slices"
	"strconv"

	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
)

// Static is a slot from the configuration: every session of an agent has it, it
// is readonly, and it is not stored.
type Static struct {
	ID string
	// Messages are numbered from 1, oldest first.
	Messages []*models.SessionMessage
}

// NewStatic numbers and counts the messages, which become its own.
func NewStatic(id string, messages []*models.SessionMessage) Static {
	for i, m := range messages {
		m.ID, m.Seq, m.Slot = "static_"+id+"_"+strconv.Itoa(i+1), int64(i+1), id
		m.TokenCount = tokens.Message(m, nil)
	}
	return Static{ID: id, Messages: messages}
}

// Of returns the slot as a session shows it.
func (s Static) Of(session *models.Session) *models.ContextSlot {
	total := 0
	for _, m := range s.Messages {
		total += m.TokenCount
	}
	return &models.ContextSlot{
		ID: s.ID, SessionKey: session.Key, Mode: models.SlotReadonly, Source: models.SlotSource{Kind: models.SlotStatic},
		MessageCount: len(s.Messages), TotalTokens: total, CreatedAt: session.CreatedAt,
	}
}

// Page returns copies of the newest limit messages with a seq below before (zero:
// no bound), oldest first.
func (s Static) Page(before int64, limit int) []*models.SessionMessage {
	end := len(s.Messages)
	if before > 0 && before <= int64(end) {
		end = int(before) - 1
	}
	return models.CloneMessages(s.Messages[max(0, end-max(limit, 0)):end])
}

// FindStatic returns the static slot of that name, or nil.
func FindStatic(all []Static, id string) *Static {
	if i := slices.IndexFunc(all, func(s Static) bool { return s.ID == id }); i >= 0 {
		return &all[i]
	}
	return nil
}
