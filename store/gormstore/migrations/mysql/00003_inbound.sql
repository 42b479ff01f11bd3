-- +goose Up
CREATE TABLE IF NOT EXISTS inbound (
  id                  VARBINARY(256) NOT NULL,
  sid                 BINARY(32) NOT NULL,
  seq                 BIGINT NOT NULL,
  queued              TINYINT NOT NULL,
  kind                VARBINARY(16) NOT NULL,
  state               VARBINARY(16) NOT NULL,
  slot                VARBINARY(64) NOT NULL,
  epoch               BIGINT NOT NULL,
  channel             VARBINARY(64) NOT NULL,
  account             VARBINARY(64) NOT NULL,
  platform_message_id VARBINARY(256) NOT NULL,
  sender_id           VARBINARY(256) NOT NULL,
  awaited             TINYINT NOT NULL,
  order_at            BIGINT NOT NULL,
  received_at         BIGINT NOT NULL,
  finished_at         BIGINT NULL,
  attempts            INT NOT NULL,
  run_fence           BIGINT NOT NULL,
  merged_into         VARBINARY(256) NOT NULL,
  replaces            LONGTEXT NULL,
  code                VARBINARY(32) NOT NULL,
  error               TEXT NULL,
  finish_reason       VARBINARY(64) NOT NULL,
  reply               LONGTEXT NULL,
  sign                LONGTEXT NULL,
  fingerprint         VARBINARY(64) NULL,
  context_id          BINARY(16) NULL,
  from_seq            BIGINT NOT NULL,
  to_seq              BIGINT NOT NULL,
  payload             LONGBLOB NULL,
  PRIMARY KEY (id),
  KEY inbound_lane (sid, queued, seq),
  KEY inbound_state (state, received_at, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS inbound;
