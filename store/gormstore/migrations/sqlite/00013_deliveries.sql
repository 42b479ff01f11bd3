-- +goose Up
CREATE TABLE deliveries (
  id                  TEXT NOT NULL,
  target_id           BLOB NULL,
  seq                 INTEGER NOT NULL,
  queued              INTEGER NOT NULL,
  sid                 BLOB NULL,
  lane_seq            INTEGER NOT NULL,
  inbound_id          TEXT NOT NULL,
  session_key         TEXT NOT NULL,
  channel             TEXT NOT NULL,
  account             TEXT NOT NULL,
  state               TEXT NOT NULL,
  kind                TEXT NOT NULL,
  part                INTEGER NOT NULL,
  parts               INTEGER NOT NULL,
  text                TEXT NOT NULL,
  files               TEXT NULL,
  target              TEXT NOT NULL,
  remember            TEXT NULL,
  attempts            INTEGER NOT NULL,
  next_attempt_at     INTEGER NULL,
  first_sent_at       INTEGER NULL,
  send_fence          INTEGER NOT NULL,
  ambiguous           INTEGER NOT NULL,
  error               TEXT NULL,
  platform_message_id TEXT NOT NULL,
  preview             TEXT NOT NULL,
  created_at          INTEGER NOT NULL,
  delivered_at        INTEGER NULL,
  PRIMARY KEY (id)
);
CREATE INDEX deliveries_target ON deliveries (target_id, queued, seq);
CREATE INDEX deliveries_session ON deliveries (sid, queued);
CREATE INDEX deliveries_state ON deliveries (state, created_at, id);

-- +goose Down
DROP TABLE deliveries;
