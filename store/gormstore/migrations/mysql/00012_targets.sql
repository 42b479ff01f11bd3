-- +goose Up
CREATE TABLE IF NOT EXISTS targets (
  id          BINARY(32) NOT NULL,
  chat        BINARY(32) NOT NULL,
  channel     VARBINARY(64) NOT NULL,
  account     VARBINARY(64) NOT NULL,
  due_at      BIGINT NULL,
  fence       BIGINT NOT NULL,
  attempts    INT NOT NULL,
  lease_owner VARBINARY(200) NULL,
  last_seq    BIGINT NOT NULL,
  PRIMARY KEY (id),
  KEY targets_due (due_at, id),
  KEY targets_chat (chat)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS targets;
