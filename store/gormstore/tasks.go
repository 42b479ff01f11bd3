package gormstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// CreateTask stores a new task.
func (s *Store) CreateTask(ctx context.Context, m *models.Task) error {
	return s.write(ctx, "create task", func(t *tx) error {
		err := insertTask(t, m)
		if t.again && errors.Is(err, store.ErrExists) {
			var at int64
			if _, err := t.find(&at, "SELECT created_at FROM tasks WHERE id = ?", m.ID); err == nil && at == micros(m.CreatedAt) {
				return nil // the commit whose answer was lost took place
			}
		}
		return err
	})
}

func insertTask(t *tx, m *models.Task) error {
	var c checks
	c.task(m)
	if c.err != nil {
		return c.err
	}
	text, err := definitionOf(m)
	if err != nil {
		return err
	}
	_, err = t.exec("INSERT INTO tasks (id, owner, chat, next_run_at, paused, failures, runs, revision, created_at, definition) VALUES "+values(1, 10),
		m.ID, m.Owner, taskChat(m.Deliver), nullTime(m.NextRunAt), bit(m.Paused), m.Failures, m.Runs, m.Revision, micros(m.CreatedAt), text)
	if duplicate(err) {
		return fmt.Errorf("task %s: %w", m.ID, store.ErrExists)
	}
	return err
}

// Task returns a task.
func (s *Store) Task(ctx context.Context, id string) (*models.Task, error) {
	var out *models.Task
	err := s.read(ctx, "task", func(t *tx) (err error) {
		out, err = findTask(t, id, "")
		return err
	})
	return out, err
}

// findTask reads a task, locked if lock is "{lock}".
func findTask(t *tx, id, lock string) (*models.Task, error) {
	var row taskRow
	n, err := t.find(&row, "SELECT "+taskColumns+" FROM tasks WHERE id = ? "+lock, id)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fmt.Errorf("task: %w", store.ErrNotFound)
	}
	return row.model()
}

// ListTasks returns a page, newest first.
func (s *Store) ListTasks(ctx context.Context, q store.TaskQuery) (items []*models.Task, next string, err error) {
	err = s.read(ctx, "list tasks", func(t *tx) (err error) {
		items, next, err = listTasks(t, q)
		return err
	})
	return items, next, err
}

func listTasks(t *tx, q store.TaskQuery) ([]*models.Task, string, error) {
	at, err := parseCursor(q.Cursor)
	if err != nil {
		return nil, "", err
	}
	type filter struct {
		where string
		args  []any
	}
	var filters []filter
	if q.Owner != "" {
		filters = append(filters, filter{"owner = ?", []any{q.Owner}})
	}
	if q.Chat != nil {
		filters = append(filters, filter{"chat = ?", []any{chatName(*q.Chat)}})
	}
	if len(filters) == 0 {
		filters = append(filters, filter{"1 = 1", nil})
	}
	limit := pageSize(q.Limit)
	seen := map[string]bool{}
	var rows []taskRow
	for _, f := range filters { // each has an index; a task that both find counts once
		where, args := at.after("created_at", "id", f.args...)
		var some []taskRow
		if _, err := t.find(&some, "SELECT "+taskColumns+" FROM tasks WHERE "+f.where+where+" ORDER BY created_at DESC, id DESC LIMIT ?", append(args, limit+1)...); err != nil {
			return nil, "", err
		}
		for _, row := range some {
			if !seen[row.ID] {
				seen[row.ID], rows = true, append(rows, row)
			}
		}
	}
	rows, next := page(rows, limit, func(r taskRow) cursor { return cursor{at: r.CreatedAt, id: r.ID} })
	items, err := taskModels(rows)
	return items, next, err
}

// ChangeTask changes a task under its lock.
func (s *Store) ChangeTask(ctx context.Context, id string, change func(*models.Task) error) (*models.Task, error) {
	var out *models.Task
	err := s.write(ctx, "change task", func(t *tx) error {
		m, err := findTask(t, id, "{lock}")
		if err != nil {
			return err
		}
		if t.again && out != nil && m.Revision == out.Revision {
			return nil // the commit whose answer was lost took place
		}
		if err := change(m); err != nil {
			return err
		}
		out = m
		return updateTask(t, m)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// updateTask stores a locked task as it is now.
func updateTask(t *tx, m *models.Task) error {
	var c checks
	c.task(m)
	if c.err != nil {
		return c.err
	}
	text, err := definitionOf(m)
	if err != nil {
		return err
	}
	m.Revision++
	n, err := t.exec("UPDATE tasks SET owner = ?, chat = ?, next_run_at = ?, paused = ?, failures = ?, runs = ?, revision = ?, definition = ? WHERE id = ?",
		m.Owner, taskChat(m.Deliver), nullTime(m.NextRunAt), bit(m.Paused), m.Failures, m.Runs, m.Revision, text, m.ID)
	if err == nil && n == 0 {
		err = fmt.Errorf("task: %w", store.ErrNotFound)
	}
	return err
}

// DeleteTask forgets a task and its runs.
func (s *Store) DeleteTask(ctx context.Context, id string) error {
	return s.write(ctx, "delete task", func(t *tx) error {
		err := deleteTask(t, id)
		if t.again && errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
}

func deleteTask(t *tx, id string) error {
	n, err := t.exec("DELETE FROM tasks WHERE id = ?", id) // first: it is what everybody else locks
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("task: %w", store.ErrNotFound)
	}
	return forgetRuns(t, "task_id = ?", id)
}

const dueTasks = "SELECT " + taskColumns + " FROM tasks WHERE next_run_at > ? AND next_run_at <= ? ORDER BY next_run_at LIMIT ?"

// DueTasks returns tasks that are due.
func (s *Store) DueTasks(ctx context.Context, after, until time.Time, limit int) ([]*models.Task, error) {
	var rows []taskRow
	err := s.read(ctx, "due tasks", func(t *tx) error {
		rows = nil
		_, err := t.find(&rows, dueTasks, micros(after), micros(until), min(limit, maxPage))
		return err
	})
	if err != nil {
		return nil, err
	}
	return taskModels(rows)
}

// The role of a chat command's transaction.

func (x *sessionTx) CreateTask(m *models.Task) error { return insertTask(x.tx, m) }

func (x *sessionTx) Task(id string) (*models.Task, error) { return findTask(x.tx, id, "{lock}") }

func (x *sessionTx) UpdateTask(m *models.Task) error { return updateTask(x.tx, m) }

func (x *sessionTx) DeleteTask(id string) error { return deleteTask(x.tx, id) }

func (x *sessionTx) Tasks(q store.TaskQuery) ([]*models.Task, error) {
	items, _, err := listTasks(x.tx, q)
	return items, err
}
