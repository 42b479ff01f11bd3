-- +goose Up
CREATE INDEX task_runs_session ON task_runs (session_key);

-- +goose Down
DROP INDEX task_runs_session;
