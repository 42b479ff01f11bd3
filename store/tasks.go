package store

import (
	"context"
	"time"

	"github.com/chatkeep/chatkeep/models"
)

// Tasks keeps scheduled tasks and the history of their runs. A run is a message in
// the inbox: how it stands is read from there, and what became of its answer from
// the outbox. Only what is left once those rows are swept is kept with the run.
type Tasks interface {
	// CreateTask stores a new task; [ErrExists] if its id is taken.
	CreateTask(ctx context.Context, t *models.Task) error
	// Task returns a task, or [ErrNotFound].
	Task(ctx context.Context, id string) (*models.Task, error)
	// ListTasks returns a page, newest first.
	ListTasks(ctx context.Context, q TaskQuery) (items []*models.Task, nextCursor string, err error)
	// ChangeTask runs change on the task under its lock and stores the result;
	// [ErrNotFound] if there is none. change may be run more than once.
	ChangeTask(ctx context.Context, id string, change func(*models.Task) error) (*models.Task, error)
	// DeleteTask forgets a task and its runs, or returns [ErrNotFound]. A run that has
	// begun ends as it would have.
	DeleteTask(ctx context.Context, id string) error
	// DueTasks returns tasks whose next run is after the first time and not after the
	// second one, the longest due first. Its cost does not depend on how many there are.
	DueTasks(ctx context.Context, after, until time.Time, limit int) ([]*models.Task, error)
	// Fire starts what is due of a task in one transaction: its next time, the run, and
	// the run's message in the inbox. Whoever comes second changes nothing.
	Fire(ctx context.Context, f *Firing) (*Fired, error)
	// TaskRuns returns a page of a task's runs, the latest time first.
	TaskRuns(ctx context.Context, q TaskRunQuery) (items []*models.TaskRun, nextCursor string, err error)
	// LastRuns returns the latest run of each task that has one, by task; at most 1000 ids.
	LastRuns(ctx context.Context, taskIDs []string) (map[string]*models.TaskRun, error)
	// StartRun marks that a worker has the run, and returns when one had it first: now,
	// unless a process died in it. A run that ended and is retried starts anew. [ErrNotFound]
	// if the run was forgotten.
	StartRun(ctx context.Context, runID string, now time.Time) (time.Time, error)
	// EndedRuns returns runs that ended, their deliveries too, and are not settled yet.
	EndedRuns(ctx context.Context, limit int) ([]*models.TaskRun, error)
	// SettleRun keeps what became of a run, once: a second call reports false. Under the
	// task's lock, unless it was deleted, decide changes its failures, pause and next
	// time, and says what is to be sent. It may be run more than once.
	SettleRun(ctx context.Context, run *models.TaskRun, decide func(*models.Task) Verdict) (bool, error)
	// ForgottenRuns returns runs that ended and that no task has any more, but each of
	// which left a session of its own to be deleted.
	ForgottenRuns(ctx context.Context, limit int) ([]*models.TaskRun, error)
	// ForgetRun ends what is kept of a forgotten run.
	ForgetRun(ctx context.Context, runID string) error
}

// Verdict is what follows from the end of a run.
type Verdict struct {
	// Deliveries are to be sent.
	Deliveries []*models.Delivery
	// Remember, when set, is the session that their texts become part of as they are
	// delivered, as for [Outbox].Enqueue.
	Remember *models.Session
}

// TasksTx is what a chat command may do with tasks, in its own transaction.
type TasksTx interface {
	// CreateTask stores a new task; [ErrExists] if its id is taken.
	CreateTask(t *models.Task) error
	// Task returns a task and locks it, or returns [ErrNotFound].
	Task(id string) (*models.Task, error)
	// Tasks returns the newest tasks that q selects.
	Tasks(q TaskQuery) ([]*models.Task, error)
	// UpdateTask stores a task that Task returned.
	UpdateTask(t *models.Task) error
	// DeleteTask forgets a task and its runs, or returns [ErrNotFound].
	DeleteTask(id string) error
}

// TaskQuery selects tasks. With Owner and Chat both set it selects those of either;
// with none, all.
type TaskQuery struct {
	Owner string
	// Chat is a chat that tasks are delivered to.
	Chat   *TaskChat
	Limit  int
	Cursor string
}

// TaskChat names a chat. Threads of it are the same chat.
type TaskChat struct {
	Channel string
	Account string
	// ChatID names a group, UserID a direct chat.
	ChatID string
	UserID string
}

// TaskRunQuery selects runs of a task.
type TaskRunQuery struct {
	TaskID string
	Limit  int
	Cursor string
}

// Firing is what is due of a task.
type Firing struct {
	TaskID string
	// Due and Revision are what the task had when it was read. If either has changed,
	// or the task is paused, nothing happens.
	Due      time.Time
	Revision int64
	// Manual starts a run besides the schedule: Due, Revision, Next and Missed do not
	// count then, a paused task runs too, and a run under way is [ErrConflict].
	Manual bool
	// Next is the task's next time; nil if there is none.
	Next *time.Time
	// Missed are times that passed unused; they are recorded.
	Missed []time.Time
	// Run is the run to start (ID, ScheduledAt, SessionKey); nil: none. It
	// is recorded as skipped if the one before is still under way.
	Run *models.TaskRun
	// Message makes the message of the run; its kind is message.
	Message *AcceptRequest
}

// Fired is what came of a firing.
type Fired struct {
	// Fired is false if another replica was first, or the task changed meanwhile.
	Fired bool
	// Run is the run as recorded; nil if there is none.
	Run *models.TaskRun
}

// RunsKept is how many runs of a task its history holds.
const RunsKept = 500
