package gormstore

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/chatkeep/chatkeep/models"
)

// Values of inbound.queued: what index inbound_lane finds rows by.
const (
	finished   = 0
	inLane     = 1 // waits for its turn, or runs
	background = 2 // observed: read by later turns
	around     = 3 // a command without an outcome: not in the lane's queue
	deferred   = 4 // a command that was carried out, but for what takes time
)

// inboundRow is a row of inbound beside its lane.
type inboundRow struct {
	ID                string
	SessionKey        string
	Seq               int64
	Queued            int
	Kind              string
	State             string
	Slot              string
	Epoch             int64
	Channel           string
	Account           string
	PlatformMessageID string
	SenderID          string
	Awaited           int
	OrderAt           int64
	ReceivedAt        int64
	FinishedAt        sql.NullInt64
	Attempts          int
	RunFence          int64
	MergedInto        string
	Replaces          sql.NullString
	Code              string
	Error             sql.NullString
	FinishReason      string
	Reply             sql.NullString
	Sign              sql.NullString
	Fingerprint       []byte
	Payload           []byte
}

// Columns of an inboundRow, without and with the payload.
const (
	inboundBrief = `i.id, l.session_key, i.seq, i.queued, i.kind, i.state, i.slot, i.epoch, i.channel, i.account,
		i.platform_message_id, i.sender_id, i.awaited, i.order_at, i.received_at, i.finished_at, i.attempts,
		i.run_fence, i.merged_into, i.replaces, i.code, i.error, i.finish_reason, i.reply, i.sign, i.fingerprint`
	inboundFull = inboundBrief + `, i.payload`
	// fromInbound hides the messages of deleted sessions; more conditions may follow.
	fromInbound = ` FROM inbound i JOIN lanes l ON l.sid = i.sid AND i.seq > l.deleted_seq`
)

func (r *inboundRow) model() (*models.Inbound, error) {
	replaces, err := decode[[]string](r.Replaces)
	if err != nil {
		return nil, fmt.Errorf("inbound %s: replaces: %w", r.ID, err)
	}
	reply, err := decode[*models.Reply](r.Reply)
	if err != nil {
		return nil, fmt.Errorf("inbound %s: reply: %w", r.ID, err)
	}
	return &models.Inbound{
		ID: r.ID, Channel: r.Channel, Account: r.Account, SessionKey: r.SessionKey,
		PlatformMessageID: r.PlatformMessageID, State: models.InboundState(r.State), MergedInto: r.MergedInto,
		Attempts: r.Attempts, Error: r.Error.String, ReceivedAt: fromMicros(r.ReceivedAt), FinishedAt: timePointer(r.FinishedAt),
		Kind: models.InboundKind(r.Kind), Deferred: r.Queued == deferred, Seq: r.Seq, Slot: r.Slot, Epoch: r.Epoch, SenderID: r.SenderID,
		Replaces: replaces, Sign: r.Sign.String, Awaited: r.Awaited != 0, CreatedAt: fromMicros(r.OrderAt),
		Payload: r.Payload, Code: models.ErrorCode(r.Code), FinishReason: r.FinishReason, Reply: reply,
	}, nil
}

func inboundModels(rows []inboundRow) ([]*models.Inbound, error) {
	out := make([]*models.Inbound, len(rows))
	for i := range rows {
		m, err := rows[i].model()
		if err != nil {
			return nil, err
		}
		out[i] = m
	}
	return out, nil
}

// insertInbound stores a message as it is.
func insertInbound(t *tx, sid []byte, m *models.Inbound, queued int, runFence int64, fingerprint []byte) error {
	replaces, err := encode(m.Replaces, len(m.Replaces) == 0)
	if err != nil {
		return err
	}
	if fingerprint == nil {
		fingerprint = []byte{}
	}
	const columns = `id, sid, seq, queued, kind, state, slot, epoch, channel, account, platform_message_id, sender_id,
		awaited, order_at, received_at, finished_at, attempts, run_fence, merged_into, replaces, code, error,
		finish_reason, fingerprint, from_seq, to_seq, payload`
	_, err = t.exec("INSERT INTO inbound ("+columns+") VALUES "+values(1, strings.Count(columns, ",")+1),
		m.ID, sid, m.Seq, queued, string(m.Kind), string(m.State), m.Slot, m.Epoch, m.Channel, m.Account, m.PlatformMessageID, m.SenderID,
		bit(m.Awaited), micros(m.CreatedAt), micros(m.ReceivedAt), nullTime(m.FinishedAt), m.Attempts, runFence, "", replaces, string(m.Code), clip(m.Error),
		m.FinishReason, fingerprint, 0, 0, m.Payload)
	return err
}
