package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// TaskInput is what a caller says of a task. What is absent stays as it is; at, until
// and deliver are taken away by null.
type TaskInput struct {
	ID          *string              `json:"id"`
	Schedule    *string              `json:"schedule"`
	At          json.RawMessage      `json:"at"`
	Timezone    *string              `json:"timezone"`
	Prompt      *string              `json:"prompt"`
	Agent       *string              `json:"agent"`
	Session     *models.TaskSession  `json:"session"`
	Deliver     json.RawMessage      `json:"deliver"`
	Missed      *models.MissedPolicy `json:"missed"`
	Grace       *string              `json:"grace"`
	Timeout     *string              `json:"timeout"`
	Retries     *int                 `json:"retries"`
	NotifyAfter *int                 `json:"notifyAfter"`
	PauseAfter  *int                 `json:"pauseAfter"`
	Until       json.RawMessage      `json:"until"`
	MaxRuns     *int                 `json:"maxRuns"`
	Paused      *bool                `json:"paused"`
	Owner       *string              `json:"owner"`
}

// Apply changes a task; the id of one that is stored is not changed.
func (in *TaskInput) Apply(t *models.Task) error {
	assign(&t.Schedule, in.Schedule)
	assign(&t.Timezone, in.Timezone)
	assign(&t.Prompt, in.Prompt)
	assign(&t.AgentID, in.Agent)
	assign(&t.Session, in.Session)
	assign(&t.Missed, in.Missed)
	assign(&t.Retries, in.Retries)
	assign(&t.NotifyAfter, in.NotifyAfter)
	assign(&t.PauseAfter, in.PauseAfter)
	assign(&t.MaxRuns, in.MaxRuns)
	assign(&t.Paused, in.Paused)
	assign(&t.Owner, in.Owner)
	for _, d := range []struct {
		name string
		text *string
		into *time.Duration
	}{{"grace", in.Grace, &t.Grace}, {"timeout", in.Timeout, &t.Timeout}} {
		if d.text == nil {
			continue
		}
		span, err := time.ParseDuration(*d.text)
		if err != nil {
			return fmt.Errorf("%w: %s needs a duration with a unit, such as 15s or 10m", store.ErrInvalid, d.name)
		}
		*d.into = span
	}
	if in.Owner != nil && *in.Owner == models.OwnerConfig {
		return fmt.Errorf("%w: owner config is of the configuration's own tasks", store.ErrInvalid)
	}
	deliver := t.Deliver
	for _, err := range []error{replace("at", &t.At, in.At), replace("until", &t.Until, in.Until), replace("deliver", &deliver, in.Deliver)} {
		if err != nil {
			return err
		}
	}
	if deliver != nil && deliver.Secret == models.Hidden { // as it was read
		if t.Deliver == nil || t.Deliver.URL != deliver.URL {
			return fmt.Errorf("%w: deliver.secret is needed for a new url", store.ErrInvalid)
		}
		deliver.Secret = t.Deliver.Secret
	}
	t.Deliver = deliver
	if in.Schedule != nil && *in.Schedule != "" && in.At == nil {
		t.At = nil
	}
	if t.At != nil && in.At != nil && in.Schedule == nil {
		t.Schedule = ""
	}
	return nil
}

func assign[T any](into, value *T) {
	if value != nil {
		*into = *value
	}
}

func replace[T any](name string, into **T, raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	var v *T
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return fmt.Errorf("%w: %s cannot be read", store.ErrInvalid, name)
	}
	*into = v
	return nil
}
