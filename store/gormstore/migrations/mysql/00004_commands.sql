-- +goose Up
CREATE TABLE IF NOT EXISTS commands (
  inbound_id  VARBINARY(256) NOT NULL,
  due_at      BIGINT NOT NULL,
  lease_owner VARBINARY(200) NULL,
  PRIMARY KEY (inbound_id),
  KEY commands_due (due_at, inbound_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS commands;
