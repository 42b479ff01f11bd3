package gormstore

import (
	"database/sql"
	"fmt"

	"github.com/chatkeep/chatkeep/models"
)

// deliveryRow is a row of deliveries.
type deliveryRow struct {
	ID                string
	TargetID          []byte
	Seq               int64
	InboundID         string
	SessionKey        string
	Channel           string
	Account           string
	State             string
	Kind              string
	Part              int
	Parts             int
	Text              string
	Files             sql.NullString
	Buttons           sql.NullString
	Target            sql.NullString
	Attempts          int
	NextAttemptAt     sql.NullInt64
	FirstSentAt       sql.NullInt64
	SendFence         int64
	Ambiguous         int
	Error             sql.NullString
	PlatformMessageID string
	Preview           string
	CreatedAt         int64
	DeliveredAt       sql.NullInt64
	QueuedAt          sql.NullInt64
	// Hidden is set if the session was deleted since: the texts may not be read.
	Hidden int
}

// fromDeliveries finds whether the session of a delivery was deleted after it.
const (
	deliveryColumns = `d.id, d.target_id, d.seq, d.inbound_id, d.session_key, d.channel, d.account, d.state, d.kind, d.part, d.parts,
		d.text, d.files, d.buttons, d.target, d.attempts, d.next_attempt_at, d.first_sent_at, d.send_fence, d.ambiguous, d.error, d.platform_message_id, d.preview,
		d.created_at, d.delivered_at, d.queued_at, CASE WHEN l.deleted_seq > 0 AND l.deleted_seq >= d.lane_seq THEN 1 ELSE 0 END AS hidden`
	joinDeliveryLane = ` LEFT JOIN lanes l ON l.sid = d.sid`
)

// storedTarget is a target as it is stored: all of it, where the API shows a part.
type storedTarget struct {
	ChatID   string `json:"chat,omitempty"`
	UserID   string `json:"user,omitempty"`
	ThreadID string `json:"thread,omitempty"`
	ReplyTo  string `json:"replyTo,omitempty"`
	Direct   bool   `json:"direct,omitempty"`
	Ref      []byte `json:"ref,omitempty"`
}

// sentTarget is what is stored of where a delivery goes, and of what made it go there.
type sentTarget struct {
	storedTarget

	Trace string `json:"trace,omitempty"`
}

func encodeTarget(t models.Target) (any, error) { return encode(storedTarget(t), false) }

func (r *deliveryRow) model() (*models.Delivery, error) {
	target, err := decode[sentTarget](r.Target)
	if err != nil {
		return nil, fmt.Errorf("delivery %s: target: %w", r.ID, err)
	}
	files, err := decode[[]string](r.Files)
	if err != nil {
		return nil, fmt.Errorf("delivery %s: files: %w", r.ID, err)
	}
	buttons, err := decode[[]models.Button](r.Buttons)
	if err != nil {
		return nil, fmt.Errorf("delivery %s: buttons: %w", r.ID, err)
	}
	d := &models.Delivery{
		ID: r.ID, InboundID: r.InboundID, SessionKey: r.SessionKey, Channel: r.Channel, Account: r.Account,
		Target: models.Target(target.storedTarget), Text: r.Text, State: models.DeliveryState(r.State), Attempts: r.Attempts,
		NextAttemptAt: timePointer(r.NextAttemptAt), Error: r.Error.String, PlatformMessageID: r.PlatformMessageID,
		CreatedAt: fromMicros(r.CreatedAt), DeliveredAt: timePointer(r.DeliveredAt), Kind: models.DeliveryKind(r.Kind),
		Seq: r.Seq, Part: r.Part, Parts: r.Parts, Files: files, Buttons: buttons, FirstSentAt: fromNull(r.FirstSentAt), Ambiguous: r.Ambiguous != 0, Preview: r.Preview,
		Trace:    target.Trace,
		QueuedAt: fromMicros(r.CreatedAt),
	}
	if r.QueuedAt.Valid {
		d.QueuedAt = fromMicros(r.QueuedAt.Int64)
	}
	if r.Hidden != 0 {
		d.Text, d.Files, d.Buttons = "", nil, nil
	}
	return d, nil
}

func deliveryModels(rows []deliveryRow) ([]*models.Delivery, error) {
	out := make([]*models.Delivery, len(rows))
	for i := range rows {
		m, err := rows[i].model()
		if err != nil {
			return nil, err
		}
		out[i] = m
	}
	return out, nil
}
