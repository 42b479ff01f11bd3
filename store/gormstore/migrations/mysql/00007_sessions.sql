-- What moves with every message is kept with the slots. last_user_at may lag behind
-- by some minutes: it finds sessions that may be idle, their slots tell whether they are.

-- +goose Up
CREATE TABLE IF NOT EXISTS sessions (
  sid               BINARY(32) NOT NULL,
  session_key       VARBINARY(2700) NOT NULL,
  agent_id          VARBINARY(64) NOT NULL,
  channel           VARBINARY(64) NOT NULL,
  account           VARBINARY(64) NOT NULL,
  scope             VARBINARY(32) NOT NULL,
  scope_id          VARBINARY(2700) NOT NULL,
  state             VARBINARY(16) NOT NULL,
  title             TEXT NOT NULL,
  model             VARBINARY(256) NOT NULL,
  system_prompt     LONGTEXT NOT NULL,
  pinned            TINYINT NOT NULL,
  compaction_count  INT NOT NULL,
  compacted_summary LONGTEXT NOT NULL,
  observed_seq      BIGINT NOT NULL,
  last_user_at      BIGINT NULL,
  last_activity_at  BIGINT NOT NULL,
  created_at        BIGINT NOT NULL,
  updated_at        BIGINT NOT NULL,
  PRIMARY KEY (sid),
  KEY sessions_created (created_at, sid),
  KEY sessions_agent (agent_id, created_at, sid),
  KEY sessions_channel (channel, created_at, sid),
  KEY sessions_scope (scope, created_at, sid),
  KEY sessions_state (state, created_at, sid),
  KEY sessions_user (state, last_user_at, sid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS sessions;
