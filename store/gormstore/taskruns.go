package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// runRow is a row of task_runs beside what inbox and outbox say of it.
type runRow struct {
	ID            string
	TaskID        string
	ScheduledAt   int64
	StartedAt     sql.NullInt64
	InboundID     string
	SessionKey    string
	State         string
	DeliveryState string
	FinishedAt    sql.NullInt64
	Error         sql.NullString
	Tokens        int

	InState    sql.NullString
	InCode     sql.NullString
	InError    sql.NullString
	InFinished sql.NullInt64
	InReply    sql.NullString
	// Deliveries of the answer by how they stand.
	Waiting   int
	Refused   int
	Delivered int
	Refusal   sql.NullString // why one was refused
}

const (
	runColumns = `r.id, r.task_id, r.scheduled_at, r.started_at, r.inbound_id, r.session_key, r.state, r.delivery_state, r.finished_at, r.error, r.tokens,
		i.state AS in_state, i.code AS in_code, i.error AS in_error, i.finished_at AS in_finished, i.reply AS in_reply,
		` + countDeliveries + `('pending', 'sending')) AS waiting, ` + countDeliveries + `('failed', 'dead')) AS refused, ` +
		countDeliveries + `('delivered')) AS delivered,
		(SELECT MAX(d.error) FROM deliveries d WHERE r.inbound_id <> '' AND d.inbound_id = r.inbound_id AND d.state IN ('failed', 'dead')) AS refusal`
	countDeliveries = `(SELECT COUNT(*) FROM deliveries d WHERE r.inbound_id <> '' AND d.inbound_id = r.inbound_id AND d.state IN `
	fromRuns        = ` FROM task_runs r LEFT JOIN inbound i ON i.id = r.inbound_id`
)

// findRuns reads runs as they stand.
func findRuns(t *tx, where, order string, args ...any) ([]*models.TaskRun, error) {
	var rows []runRow
	if _, err := t.find(&rows, "SELECT "+runColumns+fromRuns+" WHERE "+where+order, args...); err != nil {
		return nil, err
	}
	out := make([]*models.TaskRun, len(rows))
	for i := range rows {
		r, err := rows[i].model()
		if err != nil {
			return nil, err
		}
		out[i] = r
	}
	return out, nil
}

func (r *runRow) model() (*models.TaskRun, error) {
	m := &models.TaskRun{
		ID: r.ID, TaskID: r.TaskID, ScheduledAt: fromMicros(r.ScheduledAt), InboundID: r.InboundID, SessionKey: r.SessionKey,
		State: models.RunState(r.State), DeliveryState: models.RunDelivery(r.DeliveryState),
		StartedAt: timePointer(r.StartedAt), FinishedAt: timePointer(r.FinishedAt), Error: r.Error.String, Tokens: r.Tokens,
	}
	if r.InboundID == "" {
		return m, nil
	}
	if !r.InState.Valid {
		if r.State == "" { // its session was deleted before anybody looked
			m.State, m.Error = models.RunFailed, "the session of the run was deleted"
		}
		return m, nil
	}
	m.State, m.Error, m.FinishedAt = runState(r.InState.String, r.InCode.String), r.InError.String, timePointer(r.InFinished)
	reply, err := decode[*models.Reply](r.InReply)
	if err != nil {
		return nil, fmt.Errorf("run %s: reply: %w", r.ID, err)
	}
	if reply != nil {
		m.Tokens = reply.Usage.PromptTokens + reply.Usage.CompletionTokens
	}
	switch {
	case r.Waiting > 0:
		m.DeliveryState = models.RunDeliveryPending
	case r.Refused > 0:
		m.DeliveryState = models.RunDeliveryFailed
		m.Error = cmp.Or(m.Error, r.Refusal.String)
	case r.Delivered > 0:
		m.DeliveryState = models.RunDeliveryDelivered
	}
	return m, nil
}

// runState is what the state of a run's message means for the run.
func runState(state, code string) models.RunState {
	switch models.InboundState(state) {
	case models.InboundReceived:
		return models.RunScheduled
	case models.InboundRunning:
		return models.RunRunning
	case models.InboundDone:
		return models.RunDone
	default:
		if models.ErrorCode(code) == models.CodeAgentTimeout {
			return models.RunTimeout
		}
		return models.RunFailed
	}
}

// TaskRuns returns a page of a task's runs.
func (s *Store) TaskRuns(ctx context.Context, q store.TaskRunQuery) ([]*models.TaskRun, string, error) {
	at, err := parseCursor(q.Cursor)
	if err != nil {
		return nil, "", fmt.Errorf("task runs: %w", err)
	}
	limit := pageSize(q.Limit)
	where, args := at.after("r.scheduled_at", "r.id", q.TaskID)
	var runs []*models.TaskRun
	err = s.read(ctx, "task runs", func(t *tx) error {
		if _, err := findTask(t, q.TaskID, ""); err != nil {
			return err
		}
		runs, err = findRuns(t, "r.task_id = ?"+where, " ORDER BY r.scheduled_at DESC LIMIT ?", append(args, limit+1)...)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	runs, next := page(runs, limit, func(r *models.TaskRun) cursor { return cursor{at: micros(r.ScheduledAt), id: r.ID} })
	return runs, next, nil
}

// LastRuns returns the latest run of each task.
func (s *Store) LastRuns(ctx context.Context, taskIDs []string) (map[string]*models.TaskRun, error) {
	out := make(map[string]*models.TaskRun, len(taskIDs))
	if len(taskIDs) == 0 {
		return out, nil
	}
	err := s.read(ctx, "last runs", func(t *tx) error {
		runs, err := findRuns(t, "(r.task_id, r.scheduled_at) IN (SELECT task_id, MAX(scheduled_at) FROM task_runs WHERE task_id IN "+
			values(1, len(taskIDs))+" GROUP BY task_id)", "", anys(taskIDs)...)
		for _, r := range runs {
			out[r.TaskID] = r
		}
		return err
	})
	return out, err
}
