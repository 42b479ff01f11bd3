package gormstore

import (
	"context"
	"database/sql"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// SaveJobRun keeps the last run of a job. A run that started earlier changes nothing.
func (s *Store) SaveJobRun(ctx context.Context, run *store.JobRun) error {
	var c checks
	c.id("job", run.Job, models.MaxName)
	if c.err != nil {
		return wrap("save job run", c.err)
	}
	reasons, err := encode(run.Reasons, len(run.Reasons) == 0)
	if err != nil {
		return wrap("save job run", err)
	}
	values := []any{micros(run.FinishedAt), run.Considered, run.Changed, run.Skipped, reasons, clip(run.Error), micros(run.StartedAt)}
	return s.write(ctx, "save job run", func(t *tx) error {
		n, err := t.exec("UPDATE jobs SET finished_at = ?, considered = ?, changed = ?, skipped = ?, reasons = ?, error = ?, started_at = ? WHERE name = ? AND started_at <= ?",
			append(values, run.Job, micros(run.StartedAt))...)
		if err != nil || n > 0 {
			return err
		}
		_, err = t.exec("INSERT INTO jobs (finished_at, considered, changed, skipped, reasons, error, started_at, name) VALUES (?, ?, ?, ?, ?, ?, ?, ?) {upsert name} name = jobs.name",
			append(values, run.Job)...)
		return err
	})
}

// JobRuns returns the last run of every job.
func (s *Store) JobRuns(ctx context.Context) ([]*store.JobRun, error) {
	var rows []struct {
		Name                         string
		StartedAt, FinishedAt        int64
		Considered, Changed, Skipped int
		Reasons                      sql.NullString
		Error                        string
	}
	err := s.read(ctx, "job runs", func(t *tx) error {
		rows = nil
		_, err := t.find(&rows, "SELECT name, started_at, finished_at, considered, changed, skipped, reasons, error FROM jobs ORDER BY name LIMIT ?", maxPage)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]*store.JobRun, len(rows))
	for i, r := range rows {
		reasons, err := decode[map[string]int](r.Reasons)
		if err != nil {
			return nil, wrap("job runs", err)
		}
		out[i] = &store.JobRun{
			Job: r.Name, StartedAt: fromMicros(r.StartedAt), FinishedAt: fromMicros(r.FinishedAt),
			Considered: r.Considered, Changed: r.Changed, Skipped: r.Skipped, Reasons: reasons, Error: r.Error,
		}
	}
	return out, nil
}
