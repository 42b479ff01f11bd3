package gormstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// approvalRow is a row of approvals.
type approvalRow struct {
	Code       string
	SessionKey string
	Slot       string
	InboundID  string
	AgentID    string
	Channel    string
	Account    string
	SenderID   string
	SenderName sql.NullString
	Tool       string
	Arguments  string
	CallKey    string
	Reasoning  sql.NullString
	Payload    []byte
	State      string
	CreatedAt  int64
	ExpiresAt  int64
	DecidedBy  sql.NullString
	DecidedAt  sql.NullInt64
	DecidedIn  string
	RunToken   string
	Result     []byte
}

const approvalColumns = `code, session_key, slot, inbound_id, agent_id, channel, account, sender_id, sender_name, tool, arguments, call_key,
	reasoning, payload, state, created_at, expires_at, decided_by, decided_at, decided_in, run_token, result`

func (r *approvalRow) model() *models.Approval {
	a := &models.Approval{
		Code: r.Code, SessionKey: r.SessionKey, Slot: r.Slot, InboundID: r.InboundID, AgentID: r.AgentID, Channel: r.Channel, Account: r.Account,
		SenderID: r.SenderID, SenderName: r.SenderName.String, Tool: r.Tool, Arguments: r.Arguments, Key: r.CallKey, Payload: r.Payload,
		State: models.ApprovalState(r.State), CreatedAt: fromMicros(r.CreatedAt), ExpiresAt: fromMicros(r.ExpiresAt),
		DecidedBy: r.DecidedBy.String, DecidedAt: timePointer(r.DecidedAt), DecidedIn: r.DecidedIn, Result: r.Result,
	}
	if r.Reasoning.Valid {
		a.Reasoning = &r.Reasoning.String
	}
	return a
}

func (c *checks) approvals(approvals []*models.Approval) {
	for _, a := range approvals {
		c.id("approval code", a.Code, 32)
		c.slot(a.Slot)
		c.id("approval tool", a.Tool, models.MaxForeignID)
		c.id("approval arguments", a.Arguments, models.MaxContent)
		c.id("approval key", a.Key, 128)
		c.text("approval sender", a.SenderID, models.MaxForeignID)
		c.text("approval sender name", a.SenderName, models.MaxForeignID)
		if c.err == nil && len(a.Payload) > models.MaxContent {
			c.err = fmt.Errorf("approval payload has %d bytes: %w", len(a.Payload), store.ErrTooLarge)
		}
		if a.Reasoning != nil {
			c.text("approval reasoning", *a.Reasoning, models.MaxContent)
		}
	}
}

// insertApprovals stores the calls of a turn that wait for a person.
func insertApprovals(t *tx, key string, approvals []*models.Approval) error {
	if len(approvals) == 0 {
		return nil
	}
	rows := make([][]any, len(approvals))
	for i, a := range approvals {
		var reasoning any
		if a.Reasoning != nil {
			reasoning = *a.Reasoning
		}
		rows[i] = []any{
			sidOf(key), a.Code, key, a.Slot, a.InboundID, a.AgentID, a.Channel, a.Account, a.SenderID, a.SenderName, a.Tool, a.Arguments, a.Key,
			reasoning, a.Payload, string(models.ApprovalPending), micros(a.CreatedAt), micros(a.ExpiresAt), nil, nil, "", "", nil,
		}
	}
	return insertRows(t, "INSERT INTO approvals (sid, "+approvalColumns+") VALUES ", rows)
}

func findApproval(t *tx, where string, args ...any) (*approvalRow, error) {
	var row approvalRow
	n, err := t.find(&row, "SELECT "+approvalColumns+" FROM approvals WHERE "+where, args...)
	if err == nil && n == 0 {
		err = fmt.Errorf("approval: %w", store.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return &row, nil
}

// Approval returns a call by its code.
func (s *Store) Approval(ctx context.Context, code string) (*models.Approval, error) {
	var out *models.Approval
	err := s.read(ctx, "approval", func(t *tx) error {
		row, err := findApproval(t, "code = ?", code)
		if err == nil {
			out = row.model()
		}
		return err
	})
	return out, err
}

// ListApprovals returns a page, newest first.
func (s *Store) ListApprovals(ctx context.Context, q store.ApprovalQuery) (items []*models.Approval, next string, err error) {
	at, err := parseTextCursor(q.Cursor)
	if err != nil {
		return nil, "", fmt.Errorf("list approvals: %w", err)
	}
	states := []models.ApprovalState{q.State}
	if q.State == "" {
		states = []models.ApprovalState{
			models.ApprovalPending, models.ApprovalApproved, models.ApprovalRunning, models.ApprovalDone, models.ApprovalDenied,
		}
	}
	limit := pageSize(q.Limit)
	var rows []approvalRow
	err = s.read(ctx, "list approvals", func(t *tx) error {
		rows = nil
		for _, state := range states { // each is a range of the index
			where, args := at.after("created_at", "code", string(state))
			var some []approvalRow
			if _, err := t.find(&some, "SELECT "+approvalColumns+" FROM approvals WHERE state = ?"+where+" ORDER BY created_at DESC, code DESC LIMIT ?",
				append(args, limit+1)...); err != nil {
				return err
			}
			rows = append(rows, some...)
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	rows, next = page(rows, limit, func(r approvalRow) cursor { return cursor{at: r.CreatedAt, id: r.Code} })
	items = make([]*models.Approval, len(rows))
	for i := range rows {
		items[i] = rows[i].model()
	}
	return items, next, nil
}

// BeginCall marks an approved call as begun. The token of the first caller is kept,
// so that it is recognised where the answer to its commit was lost.
func (s *Store) BeginCall(ctx context.Context, code string) (*models.Approval, bool, error) {
	token := models.NewID("run")
	var row *approvalRow
	err := s.write(ctx, "begin call", func(t *tx) (err error) {
		if _, err := t.exec("UPDATE approvals SET state = ?, run_token = ? WHERE code = ? AND state = ?",
			string(models.ApprovalRunning), token, code, string(models.ApprovalApproved)); err != nil {
			return err
		}
		row, err = findApproval(t, "code = ?", code)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return row.model(), row.RunToken == token, nil
}

// EndCall stores the result of a call that was begun.
func (s *Store) EndCall(ctx context.Context, code string, result []byte) error {
	if len(result) > models.MaxContent {
		return fmt.Errorf("end call: result has %d bytes: %w", len(result), store.ErrTooLarge)
	}
	return s.autocommit(ctx, "end call", func(t *tx) error {
		n, err := t.exec("UPDATE approvals SET state = ?, result = ? WHERE code = ? AND state = ?",
			string(models.ApprovalDone), result, code, string(models.ApprovalRunning))
		if err == nil && n == 0 {
			err = fmt.Errorf("the call is not running: %w", store.ErrConflict)
		}
		return err
	})
}

func (x *sessionTx) Approval(code string) (*models.Approval, error) {
	row, err := findApproval(x.tx, "code = ? AND sid = ?", code, x.lane.Sid)
	if err != nil {
		return nil, err
	}
	return row.model(), nil
}

func (x *sessionTx) Decide(code string, d store.Decision) error {
	if d.State != models.ApprovalApproved && d.State != models.ApprovalDenied {
		return fmt.Errorf("decision %q: %w", d.State, store.ErrInvalid)
	}
	var c checks
	c.text("decided by", d.By, models.MaxForeignID)
	c.text("decided in", d.InboundID, models.MaxForeignID)
	if c.err != nil {
		return c.err
	}
	n, err := x.tx.exec("UPDATE approvals SET state = ?, decided_by = ?, decided_at = ?, decided_in = ? WHERE code = ? AND sid = ? AND state = ? AND expires_at > ?",
		string(d.State), d.By, micros(d.Now), d.InboundID, code, x.lane.Sid, string(models.ApprovalPending), micros(d.Now))
	if err == nil && n == 0 {
		if _, err = x.Approval(code); err == nil {
			err = fmt.Errorf("the call is decided: %w", store.ErrConflict)
		}
	}
	return err
}

func (x *sessionTx) Promote(id, slot string, payload []byte) error {
	var c checks
	c.slot(slot)
	if c.err == nil && len(payload) > models.MaxContent {
		c.err = fmt.Errorf("payload has %d bytes: %w", len(payload), store.ErrTooLarge)
	}
	if c.err != nil {
		return c.err
	}
	n, err := x.tx.exec("UPDATE inbound SET kind = ?, state = ?, queued = ?, slot = ?, epoch = ?, awaited = 1, run_fence = 0, payload = ? WHERE id = ? AND sid = ? AND queued = ?",
		string(models.KindMessage), string(models.InboundReceived), inLane, slot, x.lane.Epoch, payload, id, x.lane.Sid, around)
	if err == nil && n == 0 {
		err = fmt.Errorf("the command has its outcome: %w", store.ErrConflict)
	}
	if err != nil {
		return err
	}
	if _, err := x.tx.exec("DELETE FROM commands WHERE inbound_id = ?", id); err != nil {
		return err
	}
	_, err = x.tx.exec("UPDATE lanes SET due_at = COALESCE(due_at, {now}) WHERE sid = ?", x.lane.Sid)
	return err
}

// dropPending forgets what waits for a person in a slot whose context is gone.
func (x *sessionTx) dropPending(slot string) error {
	_, err := x.tx.exec("DELETE FROM approvals WHERE sid = ? AND state = ? AND slot = ?", x.lane.Sid, string(models.ApprovalPending), slot)
	return err
}

// sweepApprovals removes calls that were decided, or could have been, long ago.
func (s *Store) sweepApprovals(ctx context.Context, before int64, batch int) (total int, err error) {
	err = s.autocommit(ctx, "sweep approvals", func(t *tx) error {
		var codes []string
		if _, err := t.find(&codes, "SELECT code FROM approvals WHERE expires_at < ? ORDER BY expires_at LIMIT ?", before, batch); err != nil || len(codes) == 0 {
			return err
		}
		n, err := t.exec("DELETE FROM approvals WHERE expires_at < ? AND code IN "+values(1, len(codes)), append([]any{before}, anys(codes)...)...)
		total = int(n)
		return err
	})
	return total, err
}
