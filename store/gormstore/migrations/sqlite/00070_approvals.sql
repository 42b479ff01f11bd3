-- +goose Up
CREATE TABLE approvals (
  code        TEXT NOT NULL,
  sid         BLOB NOT NULL,
  session_key TEXT NOT NULL,
  slot        TEXT NOT NULL,
  inbound_id  TEXT NOT NULL,
  agent_id    TEXT NOT NULL,
  channel     TEXT NOT NULL,
  account     TEXT NOT NULL,
  sender_id   TEXT NOT NULL,
  sender_name TEXT NULL,
  tool        TEXT NOT NULL,
  arguments   TEXT NOT NULL,
  call_key    TEXT NOT NULL,
  reasoning   TEXT NULL,
  payload     BLOB NULL,
  state       TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL,
  decided_by  TEXT NULL,
  decided_at  INTEGER NULL,
  decided_in  TEXT NOT NULL,
  run_token   TEXT NOT NULL,
  result      BLOB NULL,
  PRIMARY KEY (code)
);
CREATE INDEX approvals_session ON approvals (sid, state);
CREATE INDEX approvals_state ON approvals (state, created_at, code);
CREATE INDEX approvals_expiry ON approvals (expires_at);

-- +goose Down
DROP TABLE approvals;
