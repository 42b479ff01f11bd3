package models

import (
	"encoding/json"
	"time"
)

// TaskSession says what remembers between the runs of a task.
type TaskSession string

// The kinds of task sessions.
const (
	TaskPersistent TaskSession = "persistent" // one session for all runs
	TaskIsolated   TaskSession = "isolated"   // a fresh session per run
)

// MissedPolicy says what becomes of a time that passed while nothing could run.
type MissedPolicy string

// The policies for missed times.
const (
	MissedOnce MissedPolicy = "once" // the newest missed one runs
	MissedSkip MissedPolicy = "skip" // it is recorded only
)

// TaskTarget is where a task's answer goes: a group, a person, or a URL.
type TaskTarget struct {
	Channel  string `json:"channel,omitempty"`
	Account  string `json:"account,omitempty"`
	ChatID   string `json:"chatId,omitempty"`
	ThreadID string `json:"threadId,omitempty"`
	UserID   string `json:"userId,omitempty"`
	URL      string `json:"url,omitempty"`
	// Secret signs what is posted to URL; empty: it is not signed. JSON shows [Hidden].
	Secret string `json:"secret,omitempty"`
}

// Hidden stands in JSON for a secret.
const Hidden = "[redacted]"

// MarshalJSON hides the secret.
func (t TaskTarget) MarshalJSON() ([]byte, error) {
	type plain TaskTarget
	if t.Secret != "" {
		t.Secret = Hidden
	}
	return json.Marshal(plain(t))
}

// Task is scheduled work.
type Task struct {
	ID string `json:"id"`
	// Schedule is five cron fields or @every; empty if At is set.
	Schedule string `json:"schedule,omitempty"`
	// At is the one time it runs; nil if Schedule is set.
	At *time.Time `json:"at,omitempty"`
	// Timezone is an IANA name.
	Timezone string       `json:"timezone"`
	Prompt   string       `json:"prompt"`
	AgentID  string       `json:"agent"`
	Session  TaskSession  `json:"session"`
	Deliver  *TaskTarget  `json:"deliver,omitempty"`
	Missed   MissedPolicy `json:"missed"`
	// Grace and Timeout are written like 15s and 10m.
	Grace   time.Duration `json:"-"`
	Timeout time.Duration `json:"-"`
	// Retries is how often a failed attempt is repeated within the timeout.
	Retries int `json:"retries"`
	// NotifyAfter failed runs in a row the owner is told; zero: never.
	NotifyAfter int `json:"notifyAfter"`
	// PauseAfter failed runs in a row the task is paused; zero: never.
	PauseAfter int `json:"pauseAfter"`
	// Until is the last moment it may run; nil: for ever.
	Until *time.Time `json:"until,omitempty"`
	// MaxRuns bounds the runs that its schedule starts; zero: no bound.
	MaxRuns int  `json:"maxRuns,omitempty"`
	Paused  bool `json:"paused"`
	// Owner is who made it: {channel}/{account}/{userId}, or "config" or "admin".
	Owner string `json:"owner"`
	// Failures counts the failed runs since the last good one.
	Failures int `json:"-"`
	// Runs counts the runs that its schedule started.
	Runs int `json:"-"`
	// NextRunAt is nil if it is paused or over.
	NextRunAt *time.Time `json:"nextRunAt"`
	// CreatedAt is also where the times of @every are counted from.
	CreatedAt time.Time `json:"createdAt"`
	// Revision rises with every change that somebody makes.
	Revision int64 `json:"-"`
}

// Clone returns a deep copy.
func (t *Task) Clone() *Task {
	c := *t
	c.At, c.Until, c.NextRunAt = cloned(t.At), cloned(t.Until), cloned(t.NextRunAt)
	c.Deliver = cloned(t.Deliver)
	return &c
}

func cloned[T any](v *T) *T {
	if v == nil {
		return nil
	}
	c := *v
	return &c
}

// Limits on tasks.
const (
	// MaxPrompt is the longest prompt of a task, in bytes.
	MaxPrompt = 64 << 10
	// MaxURL is the longest URL that a task delivers to, in bytes.
	MaxURL = 2048
	// MaxSecret is the longest secret that signs what is posted there, in bytes.
	MaxSecret = 4096
	// MaxTaskSpan is the longest grace and timeout.
	MaxTaskSpan = 24 * time.Hour
	// MaxTaskRetries is the most retries of one run.
	MaxTaskRetries = 10
)

// Owners that are no person.
const (
	OwnerConfig = "config"
	OwnerAdmin  = "admin"
)

// RunState is how a run of a task stands.
type RunState string

// The states of a run.
const (
	RunScheduled RunState = "scheduled"
	RunRunning   RunState = "running"
	RunDone      RunState = "done"
	RunFailed    RunState = "failed"
	RunTimeout   RunState = "timeout"
	RunMissed    RunState = "missed"  // later than the grace
	RunSkipped   RunState = "skipped" // the one before was still running
)

// Final reports whether the run has its outcome.
func (s RunState) Final() bool { return s != RunScheduled && s != RunRunning }

// RunDelivery is how the delivery of a run's answer stands.
type RunDelivery string

// The states of a run's delivery.
const (
	RunDeliveryNone      RunDelivery = "none"
	RunDeliveryPending   RunDelivery = "pending"
	RunDeliveryDelivered RunDelivery = "delivered"
	RunDeliveryFailed    RunDelivery = "failed"
)

// TaskRun is one run of a task: one per task and scheduled time.
type TaskRun struct {
	ID          string    `json:"id"`
	TaskID      string    `json:"taskId"`
	ScheduledAt time.Time `json:"scheduledAt"`
	// StartedAt is when it was put in line, once a worker has it; nil before, and
	// if it never ran.
	StartedAt     *time.Time  `json:"startedAt"`
	FinishedAt    *time.Time  `json:"finishedAt"`
	State         RunState    `json:"state"`
	DeliveryState RunDelivery `json:"deliveryState"`
	SessionKey    string      `json:"sessionKey"`
	// Error is why it failed, or why its answer could not be delivered.
	Error  string `json:"error"`
	Tokens int    `json:"tokens"`

	// InboundID is the message that the run is in the inbox.
	InboundID string `json:"-"`
}
