-- +goose Up
CREATE TABLE IF NOT EXISTS messages (
  context_id BINARY(16) NOT NULL,
  seq        BIGINT NOT NULL,
  turn_seq   BIGINT NOT NULL,
  id         VARBINARY(256) NOT NULL,
  role       VARBINARY(16) NOT NULL,
  content    LONGTEXT NOT NULL,
  meta       LONGTEXT NULL,
  tokens     BIGINT NOT NULL,
  compacted  TINYINT NOT NULL,
  undone     TINYINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (context_id, seq)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS messages;
