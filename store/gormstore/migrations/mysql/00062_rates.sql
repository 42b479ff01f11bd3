-- +goose Up
CREATE TABLE IF NOT EXISTS rates (
  key_hash   BINARY(32) NOT NULL,
  started_at BIGINT NOT NULL,
  used       BIGINT NOT NULL,
  PRIMARY KEY (key_hash),
  KEY rates_started (started_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS rates;
