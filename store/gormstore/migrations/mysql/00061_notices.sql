-- +goose Up
CREATE TABLE IF NOT EXISTS notices (
  key_hash BINARY(32) NOT NULL,
  ends_at  BIGINT NOT NULL,
  PRIMARY KEY (key_hash),
  KEY notices_ends (ends_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS notices;
