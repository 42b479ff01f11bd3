-- +goose Up
CREATE TABLE access_grants (
  subject_hash BLOB NOT NULL,
  id           TEXT NOT NULL,
  code         TEXT NULL,
  channel      TEXT NOT NULL,
  account      TEXT NOT NULL,
  kind         TEXT NOT NULL,
  subject_id   TEXT NOT NULL,
  name         TEXT NULL,
  user_id      TEXT NOT NULL,
  chat_id      TEXT NOT NULL,
  state        TEXT NOT NULL,
  language     TEXT NOT NULL,
  requested_at INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL,
  decided_at   INTEGER NULL,
  decided_by   TEXT NOT NULL,
  PRIMARY KEY (subject_hash)
) WITHOUT ROWID;
CREATE UNIQUE INDEX access_id ON access_grants (id);
CREATE UNIQUE INDEX access_code ON access_grants (code);
CREATE INDEX access_state ON access_grants (state, requested_at, id);
CREATE INDEX access_account ON access_grants (state, channel, account, requested_at, id);

-- +goose Down
DROP TABLE access_grants;
