-- +goose Up
CREATE TABLE IF NOT EXISTS plan_files (
  sid     BINARY(32) NOT NULL,
  name    VARBINARY(64) NOT NULL,
  content LONGTEXT NOT NULL,
  PRIMARY KEY (sid, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS plan_files;
