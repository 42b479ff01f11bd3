-- +goose Up
CREATE TABLE IF NOT EXISTS pruned_forms (
  context_id BINARY(16) NOT NULL,
  seq        BIGINT NOT NULL,
  pruned     VARBINARY(16) NOT NULL,
  content    LONGTEXT NOT NULL,
  PRIMARY KEY (context_id, seq)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS pruned_forms;
