-- +goose Up
CREATE TABLE IF NOT EXISTS full_results (
  sid        BINARY(32) NOT NULL,
  id         VARBINARY(64) NOT NULL,
  inbound_id VARBINARY(256) NOT NULL,
  tool       VARBINARY(256) NOT NULL,
  size       BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  content    LONGTEXT NOT NULL,
  PRIMARY KEY (sid, id),
  KEY full_results_age (created_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS full_results;
