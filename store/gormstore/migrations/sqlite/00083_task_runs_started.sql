-- +goose Up
ALTER TABLE task_runs ADD COLUMN started_at INTEGER NULL;
UPDATE task_runs SET started_at = fired_at;
ALTER TABLE task_runs DROP COLUMN fired_at;

-- +goose Down
ALTER TABLE task_runs ADD COLUMN fired_at INTEGER NOT NULL DEFAULT 0;
UPDATE task_runs SET fired_at = COALESCE(started_at, scheduled_at);
ALTER TABLE task_runs DROP COLUMN started_at;
