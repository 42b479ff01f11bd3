-- +goose Up
CREATE TABLE IF NOT EXISTS thread_aliases (
  alias_hash BINARY(32) NOT NULL,
  thread     VARBINARY(256) NOT NULL,
  used_at    BIGINT NOT NULL,
  PRIMARY KEY (alias_hash),
  KEY thread_aliases_used (used_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS thread_aliases;
