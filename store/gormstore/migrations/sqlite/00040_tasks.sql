-- +goose Up
CREATE TABLE tasks (
  id          TEXT NOT NULL,
  owner       TEXT NOT NULL,
  chat        BLOB NULL,
  next_run_at INTEGER NULL,
  paused      INTEGER NOT NULL,
  failures    INTEGER NOT NULL,
  runs        INTEGER NOT NULL,
  revision    INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  definition  TEXT NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX tasks_due ON tasks (next_run_at, id);
CREATE INDEX tasks_owner ON tasks (owner, created_at, id);
CREATE INDEX tasks_chat ON tasks (chat, created_at, id);
CREATE INDEX tasks_created ON tasks (created_at, id);

-- +goose Down
DROP TABLE tasks;
