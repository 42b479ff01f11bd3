-- +goose Up
CREATE TABLE IF NOT EXISTS jobs (
  name        VARBINARY(64) NOT NULL,
  started_at  BIGINT NOT NULL,
  finished_at BIGINT NOT NULL,
  considered  BIGINT NOT NULL,
  changed     BIGINT NOT NULL,
  skipped     BIGINT NOT NULL,
  reasons     TEXT NULL,
  error       TEXT NOT NULL,
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS jobs;
