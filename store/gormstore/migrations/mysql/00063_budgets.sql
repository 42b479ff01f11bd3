-- +goose Up
CREATE TABLE IF NOT EXISTS budgets (
  key_hash BINARY(32) NOT NULL,
  day      INT NOT NULL,
  tokens   BIGINT NOT NULL,
  extra    BIGINT NOT NULL,
  PRIMARY KEY (key_hash),
  KEY budgets_day (day)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS budgets;
