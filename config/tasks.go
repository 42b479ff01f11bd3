package config

import "time"

// TaskSession says whether the runs of a task remember each other.
type TaskSession string

// The sessions of a task.
const (
	TaskPersistent TaskSession = "persistent"
	TaskIsolated   TaskSession = "isolated"
)

func (TaskSession) values() []string { return []string{"persistent", "isolated"} }

// Missed says what becomes of a scheduled time that is later than grace.
type Missed string

// What to do with missed times.
const (
	MissedOnce Missed = "once" // the newest one runs
	MissedSkip Missed = "skip" // it is recorded only
)

func (Missed) values() []string { return []string{"once", "skip"} }

// Task is a prompt that runs on a schedule.
type Task struct {
	ID string `json:"id"`
	// Exactly one of Schedule (5 cron fields or @every) and At is set.
	Schedule string    `json:"schedule,omitzero"`
	At       time.Time `json:"at,omitzero"`
	// Timezone of Schedule; filled with [Config].Timezone if empty.
	Timezone string      `json:"timezone"`
	Prompt   string      `json:"prompt"`
	Agent    string      `json:"agent"`
	Session  TaskSession `json:"session"`
	// Deliver is where the answer goes; nil: nowhere but the run's record.
	Deliver *Deliver `json:"deliver,omitzero"`
	Missed  Missed   `json:"missed"`
	Grace   Duration `json:"grace"`
	// Timeout bounds the whole run, retries included; more than 0s.
	Timeout Duration `json:"timeout"`
	// Retries is how often a failed attempt is repeated within the timeout.
	Retries int `json:"retries"`
	// NotifyAfter and PauseAfter are the failed runs in a row after which it is told, and
	// after which the task is paused; 0: never.
	NotifyAfter int `json:"notifyAfter"`
	PauseAfter  int `json:"pauseAfter"`
	// Until is the last moment it may run; zero: for ever.
	Until time.Time `json:"until,omitzero"`
	// MaxRuns bounds the runs that the schedule starts; 0: no bound.
	MaxRuns int `json:"maxRuns"`
}

// DefaultTask returns a task without id, time and prompt.
func DefaultTask() Task {
	return Task{
		Session: TaskPersistent,
		Missed:  MissedOnce,
		Grace:   Duration(15 * time.Second),
		Timeout: Duration(10 * time.Minute),

		Retries: 2, NotifyAfter: 3, PauseAfter: 10,
	}
}

func (t *Task) setDefaults() { *t = DefaultTask() }

// Deliver is a task's target: a chat (ChatID, ThreadID optional) or a person
// (UserID) of a channel's account, or a URL.
type Deliver struct {
	Channel  string `json:"channel,omitzero"`
	Account  string `json:"account,omitzero"`
	ChatID   string `json:"chatId,omitzero"`
	ThreadID string `json:"threadId,omitzero"`
	UserID   string `json:"userId,omitzero"`
	URL      URL    `json:"url,omitzero"`
	// Secret signs what is posted to URL; empty: it is not signed.
	Secret     Secret `json:"secret,omitzero"`
	SecretFile string `json:"secretFile,omitzero"`
}
