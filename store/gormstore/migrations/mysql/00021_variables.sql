-- +goose Up
CREATE TABLE IF NOT EXISTS variables (
  sid   BINARY(32) NOT NULL,
  name  VARBINARY(256) NOT NULL,
  value LONGTEXT NOT NULL,
  PRIMARY KEY (sid, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS variables;
