-- +goose Up
CREATE TABLE IF NOT EXISTS access_grants (
  subject_hash BINARY(32) NOT NULL,
  id           VARBINARY(64) NOT NULL,
  code         VARBINARY(32) NULL,
  channel      VARBINARY(64) NOT NULL,
  account      VARBINARY(64) NOT NULL,
  kind         VARBINARY(8) NOT NULL,
  subject_id   VARBINARY(256) NOT NULL,
  name         TEXT NULL,
  user_id      VARBINARY(256) NOT NULL,
  chat_id      VARBINARY(256) NOT NULL,
  state        VARBINARY(16) NOT NULL,
  language     VARBINARY(8) NOT NULL,
  requested_at BIGINT NOT NULL,
  expires_at   BIGINT NOT NULL,
  decided_at   BIGINT NULL,
  decided_by   VARBINARY(400) NOT NULL,
  PRIMARY KEY (subject_hash),
  UNIQUE KEY access_id (id),
  UNIQUE KEY access_code (code),
  KEY access_state (state, requested_at, id),
  KEY access_account (state, channel, account, requested_at, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS access_grants;
