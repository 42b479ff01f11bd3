-- +goose Up
CREATE TABLE IF NOT EXISTS dedup (
  key_hash   BINARY(32) NOT NULL,
  inbound_id VARBINARY(256) NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (key_hash),
  KEY dedup_created (created_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS dedup;
