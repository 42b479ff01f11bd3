-- +goose Up
CREATE TABLE IF NOT EXISTS tasks (
  id          VARBINARY(64) NOT NULL,
  owner       VARBINARY(400) NOT NULL,
  chat        BINARY(32) NULL,
  next_run_at BIGINT NULL,
  paused      TINYINT NOT NULL,
  failures    INT NOT NULL,
  runs        BIGINT NOT NULL,
  revision    BIGINT NOT NULL,
  created_at  BIGINT NOT NULL,
  definition  LONGTEXT NOT NULL,
  PRIMARY KEY (id),
  KEY tasks_due (next_run_at, id),
  KEY tasks_owner (owner, created_at, id),
  KEY tasks_chat (chat, created_at, id),
  KEY tasks_created (created_at, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS tasks;
