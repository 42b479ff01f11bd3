-- +goose Up
CREATE TABLE inbound (
  id                  TEXT NOT NULL,
  sid                 BLOB NOT NULL,
  seq                 INTEGER NOT NULL,
  queued              INTEGER NOT NULL,
  kind                TEXT NOT NULL,
  state               TEXT NOT NULL,
  slot                TEXT NOT NULL,
  epoch               INTEGER NOT NULL,
  channel             TEXT NOT NULL,
  account             TEXT NOT NULL,
  platform_message_id TEXT NOT NULL,
  sender_id           TEXT NOT NULL,
  awaited             INTEGER NOT NULL,
  order_at            INTEGER NOT NULL,
  received_at         INTEGER NOT NULL,
  finished_at         INTEGER NULL,
  attempts            INTEGER NOT NULL,
  run_fence           INTEGER NOT NULL,
  merged_into         TEXT NOT NULL,
  replaces            TEXT NULL,
  code                TEXT NOT NULL,
  error               TEXT NULL,
  finish_reason       TEXT NOT NULL,
  reply               TEXT NULL,
  sign                TEXT NULL,
  fingerprint         TEXT NULL,
  context_id          BLOB NULL,
  from_seq            INTEGER NOT NULL,
  to_seq              INTEGER NOT NULL,
  payload             BLOB NULL,
  PRIMARY KEY (id)
);
CREATE INDEX inbound_lane ON inbound (sid, queued, seq);
CREATE INDEX inbound_state ON inbound (state, received_at, id);

-- +goose Down
DROP TABLE inbound;
