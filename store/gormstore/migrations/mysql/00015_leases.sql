-- +goose Up
CREATE TABLE IF NOT EXISTS leases (
  name    VARBINARY(256) NOT NULL,
  owner   VARBINARY(200) NOT NULL,
  ends_at BIGINT NOT NULL,
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS leases;
