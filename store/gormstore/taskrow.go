package gormstore

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// taskRow is a row of tasks: what statements look at in columns, the rest in one text.
type taskRow struct {
	ID         string
	Owner      string
	NextRunAt  sql.NullInt64
	Paused     int
	Failures   int
	Runs       int
	Revision   int64
	CreatedAt  int64
	Definition string
}

const taskColumns = "id, owner, next_run_at, paused, failures, runs, revision, created_at, definition"

// definition is what a task says about itself that no statement looks at.
type definition struct {
	Schedule    string              `json:"schedule,omitempty"`
	At          *time.Time          `json:"at,omitempty"`
	Timezone    string              `json:"timezone"`
	Prompt      string              `json:"prompt"`
	Agent       string              `json:"agent"`
	Session     models.TaskSession  `json:"session"`
	Deliver     *definedTarget      `json:"deliver,omitempty"`
	Missed      models.MissedPolicy `json:"missed"`
	Grace       time.Duration       `json:"grace"`
	Timeout     time.Duration       `json:"timeout"`
	Retries     int                 `json:"retries"`
	NotifyAfter int                 `json:"notifyAfter"`
	PauseAfter  int                 `json:"pauseAfter"`
	Until       *time.Time          `json:"until,omitempty"`
	MaxRuns     int                 `json:"maxRuns,omitempty"`
}

// definedTarget is a target with its secret.
type definedTarget models.TaskTarget

func definitionOf(t *models.Task) (string, error) {
	b, err := json.Marshal(definition{
		Schedule: t.Schedule, At: t.At, Timezone: t.Timezone, Prompt: t.Prompt, Agent: t.AgentID, Session: t.Session,
		Deliver: (*definedTarget)(t.Deliver), Missed: t.Missed, Grace: t.Grace, Timeout: t.Timeout, Retries: t.Retries,
		NotifyAfter: t.NotifyAfter, PauseAfter: t.PauseAfter, Until: t.Until, MaxRuns: t.MaxRuns,
	})
	return string(b), err
}

func (r *taskRow) model() (*models.Task, error) {
	var d definition
	if err := json.Unmarshal([]byte(r.Definition), &d); err != nil {
		return nil, fmt.Errorf("task %s: %w", r.ID, err)
	}
	return &models.Task{
		ID: r.ID, Schedule: d.Schedule, At: d.At, Timezone: d.Timezone, Prompt: d.Prompt, AgentID: d.Agent, Session: d.Session,
		Deliver: (*models.TaskTarget)(d.Deliver), Missed: d.Missed, Grace: d.Grace, Timeout: d.Timeout, Retries: d.Retries,
		NotifyAfter: d.NotifyAfter, PauseAfter: d.PauseAfter, Until: d.Until, MaxRuns: d.MaxRuns,
		Paused: r.Paused != 0, Owner: r.Owner, Failures: r.Failures, Runs: r.Runs, Revision: r.Revision,
		NextRunAt: timePointer(r.NextRunAt), CreatedAt: fromMicros(r.CreatedAt),
	}, nil
}

func taskModels(rows []taskRow) ([]*models.Task, error) {
	out := make([]*models.Task, len(rows))
	for i := range rows {
		t, err := rows[i].model()
		if err != nil {
			return nil, err
		}
		out[i] = t
	}
	return out, nil
}

// maxOwner is the longest owner: channel, account and a person's id.
const maxOwner = 2*models.MaxName + models.MaxForeignID + 2

func (c *checks) task(t *models.Task) {
	if c.err == nil && !models.ValidName(t.ID) {
		c.err = fmt.Errorf("task id: %w", store.ErrInvalid)
	}
	c.id("task owner", t.Owner, maxOwner)
	c.text("task schedule", t.Schedule, models.MaxForeignID)
	c.text("task timezone", t.Timezone, models.MaxName)
	c.text("task prompt", t.Prompt, models.MaxPrompt)
	c.text("task agent", t.AgentID, models.MaxName)
	if d := t.Deliver; d != nil {
		c.text("task channel", d.Channel, models.MaxName)
		c.text("task account", d.Account, models.MaxName)
		c.text("task chat", d.ChatID, models.MaxForeignID)
		c.text("task thread", d.ThreadID, models.MaxForeignID)
		c.text("task user", d.UserID, models.MaxForeignID)
		c.text("task url", d.URL, models.MaxURL)
		c.text("task secret", d.Secret, models.MaxSecret)
	}
}

// taskChat names the chat that a task delivers to, for the index; nil if none.
func taskChat(d *models.TaskTarget) any {
	if d == nil || d.Channel == "" {
		return nil
	}
	return chatName(store.TaskChat{Channel: d.Channel, Account: d.Account, ChatID: d.ChatID, UserID: d.UserID})
}

func chatName(c store.TaskChat) []byte {
	if c.ChatID != "" {
		return hash("task chat", c.Channel, c.Account, c.ChatID)
	}
	return hash("task user", c.Channel, c.Account, c.UserID)
}
