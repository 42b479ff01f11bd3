-- +goose Up
CREATE TABLE IF NOT EXISTS approvals (
  code        VARBINARY(32) NOT NULL,
  sid         BINARY(32) NOT NULL,
  session_key VARBINARY(2700) NOT NULL,
  slot        VARBINARY(64) NOT NULL,
  inbound_id  VARBINARY(256) NOT NULL,
  agent_id    VARBINARY(64) NOT NULL,
  channel     VARBINARY(64) NOT NULL,
  account     VARBINARY(64) NOT NULL,
  sender_id   VARBINARY(256) NOT NULL,
  sender_name TEXT NULL,
  tool        VARBINARY(256) NOT NULL,
  arguments   LONGTEXT NOT NULL,
  call_key    VARBINARY(128) NOT NULL,
  reasoning   LONGTEXT NULL,
  payload     LONGBLOB NULL,
  state       VARBINARY(16) NOT NULL,
  created_at  BIGINT NOT NULL,
  expires_at  BIGINT NOT NULL,
  decided_by  TEXT NULL,
  decided_at  BIGINT NULL,
  decided_in  VARBINARY(256) NOT NULL,
  run_token   VARBINARY(64) NOT NULL,
  result      LONGBLOB NULL,
  PRIMARY KEY (code),
  KEY approvals_session (sid, state),
  KEY approvals_state (state, created_at, code),
  KEY approvals_expiry (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS approvals;
