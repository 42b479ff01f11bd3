-- +goose Up
CREATE TABLE IF NOT EXISTS deliveries (
  id                  VARBINARY(256) NOT NULL,
  target_id           BINARY(32) NULL,
  seq                 BIGINT NOT NULL,
  queued              TINYINT NOT NULL,
  sid                 BINARY(32) NULL,
  lane_seq            BIGINT NOT NULL,
  inbound_id          VARBINARY(256) NOT NULL,
  session_key         VARBINARY(2700) NOT NULL,
  channel             VARBINARY(64) NOT NULL,
  account             VARBINARY(64) NOT NULL,
  state               VARBINARY(16) NOT NULL,
  kind                VARBINARY(16) NOT NULL,
  part                INT NOT NULL,
  parts               INT NOT NULL,
  text                LONGTEXT NOT NULL,
  files               LONGTEXT NULL,
  target              LONGTEXT NOT NULL,
  remember            LONGTEXT NULL,
  attempts            INT NOT NULL,
  next_attempt_at     BIGINT NULL,
  first_sent_at       BIGINT NULL,
  send_fence          BIGINT NOT NULL,
  ambiguous           TINYINT NOT NULL,
  error               TEXT NULL,
  platform_message_id VARBINARY(256) NOT NULL,
  preview             VARBINARY(256) NOT NULL,
  created_at          BIGINT NOT NULL,
  delivered_at        BIGINT NULL,
  PRIMARY KEY (id),
  KEY deliveries_target (target_id, queued, seq),
  KEY deliveries_session (sid, queued),
  KEY deliveries_state (state, created_at, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS deliveries;
