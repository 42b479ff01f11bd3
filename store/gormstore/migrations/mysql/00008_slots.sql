-- +goose Up
CREATE TABLE IF NOT EXISTS slots (
  sid           BINARY(32) NOT NULL,
  name          VARBINARY(64) NOT NULL,
  context_id    BINARY(16) NOT NULL,
  mode          VARBINARY(16) NOT NULL,
  focus         LONGTEXT NULL,
  source        TEXT NULL,
  budget        TEXT NULL,
  compact       TINYINT NOT NULL,
  next_seq      BIGINT NOT NULL,
  message_count BIGINT NOT NULL,
  total_tokens  BIGINT NOT NULL,
  place         BIGINT NOT NULL,
  user_at       BIGINT NOT NULL,
  model_at      BIGINT NOT NULL,
  active_at     BIGINT NOT NULL,
  updated_at    BIGINT NOT NULL,
  created_at    BIGINT NOT NULL,
  PRIMARY KEY (sid, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS slots;
