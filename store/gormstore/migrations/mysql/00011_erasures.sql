-- +goose Up
CREATE TABLE IF NOT EXISTS erasures (
  kind    VARBINARY(16) NOT NULL,
  ref     VARBINARY(32) NOT NULL,
  through BIGINT NOT NULL,
  PRIMARY KEY (kind, ref)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS erasures;
