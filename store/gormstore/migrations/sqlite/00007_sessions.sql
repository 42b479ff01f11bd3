-- What moves with every message is kept with the slots. last_user_at may lag behind
-- by some minutes: it finds sessions that may be idle, their slots tell whether they are.

-- +goose Up
CREATE TABLE sessions (
  sid               BLOB NOT NULL,
  session_key       TEXT NOT NULL,
  agent_id          TEXT NOT NULL,
  channel           TEXT NOT NULL,
  account           TEXT NOT NULL,
  scope             TEXT NOT NULL,
  scope_id          TEXT NOT NULL,
  state             TEXT NOT NULL,
  title             TEXT NOT NULL,
  model             TEXT NOT NULL,
  system_prompt     TEXT NOT NULL,
  pinned            INTEGER NOT NULL,
  compaction_count  INTEGER NOT NULL,
  compacted_summary TEXT NOT NULL,
  observed_seq      INTEGER NOT NULL,
  last_user_at      INTEGER NULL,
  last_activity_at  INTEGER NOT NULL,
  created_at        INTEGER NOT NULL,
  updated_at        INTEGER NOT NULL,
  PRIMARY KEY (sid)
);
CREATE INDEX sessions_created ON sessions (created_at, sid);
CREATE INDEX sessions_agent ON sessions (agent_id, created_at, sid);
CREATE INDEX sessions_channel ON sessions (channel, created_at, sid);
CREATE INDEX sessions_scope ON sessions (scope, created_at, sid);
CREATE INDEX sessions_state ON sessions (state, created_at, sid);
CREATE INDEX sessions_user ON sessions (state, last_user_at, sid);

-- +goose Down
DROP TABLE sessions;
