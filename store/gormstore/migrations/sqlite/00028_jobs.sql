-- +goose Up
CREATE TABLE jobs (
  name        TEXT NOT NULL,
  started_at  INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  considered  INTEGER NOT NULL,
  changed     INTEGER NOT NULL,
  skipped     INTEGER NOT NULL,
  reasons     TEXT NULL,
  error       TEXT NOT NULL,
  PRIMARY KEY (name)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE jobs;
