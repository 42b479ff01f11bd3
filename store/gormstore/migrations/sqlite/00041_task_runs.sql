-- +goose Up
CREATE TABLE task_runs (
  id             TEXT NOT NULL,
  task_id        TEXT NOT NULL,
  scheduled_at   INTEGER NOT NULL,
  fired_at       INTEGER NOT NULL,
  unsettled      INTEGER NOT NULL,
  inbound_id     TEXT NOT NULL,
  session_key    TEXT NOT NULL,
  state          TEXT NOT NULL,
  delivery_state TEXT NOT NULL,
  finished_at    INTEGER NULL,
  error          TEXT NULL,
  tokens         INTEGER NOT NULL,
  PRIMARY KEY (id)
);
CREATE UNIQUE INDEX task_runs_slot ON task_runs (task_id, scheduled_at);
CREATE INDEX task_runs_unsettled ON task_runs (unsettled, task_id);

-- +goose Down
DROP TABLE task_runs;
