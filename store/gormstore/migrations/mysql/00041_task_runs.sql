-- +goose Up
CREATE TABLE IF NOT EXISTS task_runs (
  id             VARBINARY(64) NOT NULL,
  task_id        VARBINARY(64) NOT NULL,
  scheduled_at   BIGINT NOT NULL,
  fired_at       BIGINT NOT NULL,
  unsettled      TINYINT NOT NULL,
  inbound_id     VARBINARY(256) NOT NULL,
  session_key    VARBINARY(2700) NOT NULL,
  state          VARBINARY(16) NOT NULL,
  delivery_state VARBINARY(16) NOT NULL,
  finished_at    BIGINT NULL,
  error          TEXT NULL,
  tokens         BIGINT NOT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY task_runs_slot (task_id, scheduled_at),
  KEY task_runs_unsettled (unsettled, task_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS task_runs;
