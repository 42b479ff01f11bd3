package gormstore

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// memory is what a delivery keeps about where its text is remembered.
type memory struct {
	models.Session

	// Observed is the payload of the observed message that the text becomes; nil: it
	// becomes a message of the session.
	Observed []byte `json:"observed,omitempty"`
}

// rememberOnDelivery marks deliveries whose texts become part of a session, or of what
// is observed in its lane, once they are delivered; nil: of none.
func rememberOnDelivery(t *tx, deliveries []*models.Delivery, session *models.Session) error {
	if session == nil {
		return nil
	}
	said := slices.DeleteFunc(slices.Clone(deliveries), func(d *models.Delivery) bool { return d.Kind == models.DeliveryNotice })
	for rest := said; len(rest) > 0; {
		m, n := memory{Session: *session, Observed: rest[0].Observed}, 1
		for m.Observed == nil && n < len(rest) && rest[n].Observed == nil {
			n++
		}
		text, err := json.Marshal(m)
		if err != nil {
			return err
		}
		args := make([]any, 0, 1+n)
		args = append(args, string(text))
		for _, d := range rest[:n] {
			args = append(args, d.ID)
		}
		if _, err := t.exec("UPDATE deliveries SET remember = ? WHERE id IN "+values(1, n), args...); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// rememberDelivery keeps a delivered text, unless the session was deleted meanwhile.
func (s *Store) rememberDelivery(t *tx, lane laneRow, m *memory, r store.DeliveryResult, text string) error {
	switch {
	case text == "":
		return nil
	case m.Observed != nil:
		return observe(t, lane, m, r)
	}
	row, _, err := lockWithSlot(t, m.Key, "")
	if err != nil {
		return err
	}
	message := &models.SessionMessage{
		ID: models.NewMessageID(r.Now), Role: models.RoleAssistant, Content: text, PlatformMessageID: r.PlatformMessageID,
		TokenCount: tokens.Estimate(text), CreatedAt: r.Now,
	}
	g := growth{messages: 1, tokens: int64(message.TokenCount), activeAt: r.Now, now: r.Now}
	contextID, from := row.ContextID, row.NextSeq
	if !row.hasSession() {
		if contextID, err = insertSession(t, lane.Sid, &m.Session, g); err != nil {
			return err
		}
		from = 1
	} else if err := row.grow(t, g); err != nil {
		return err
	}
	return insertMessages(t, contextID, from, []*models.SessionMessage{message})
}

// observe makes a delivered text an observed message of a locked lane.
func observe(t *tx, lane laneRow, m *memory, r store.DeliveryResult) error {
	if _, err := t.exec("UPDATE lanes SET last_seq = last_seq + 1 WHERE sid = ?", lane.Sid); err != nil {
		return err
	}
	at := r.Now.Truncate(time.Microsecond)
	return insertInbound(t, lane.Sid, &models.Inbound{
		ID: models.NewID("inb"), SessionKey: m.Key, Seq: lane.LastSeq + 1, Epoch: lane.Epoch, Slot: lane.Slot,
		Channel: m.Channel, Account: m.Account, PlatformMessageID: r.PlatformMessageID,
		Kind: models.KindObserved, State: models.InboundObserved, ReceivedAt: at, FinishedAt: &at, Payload: m.Observed,
	}, background, 0, nil)
}
