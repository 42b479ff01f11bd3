-- +goose Up
CREATE TABLE resets (
  context_id        BLOB NOT NULL,
  sid               BLOB NOT NULL,
  slot              TEXT NOT NULL,
  next_seq          INTEGER NOT NULL,
  message_count     INTEGER NOT NULL,
  total_tokens      INTEGER NOT NULL,
  compacted_summary TEXT NOT NULL,
  reset_at          INTEGER NOT NULL,
  place             INTEGER NOT NULL,
  PRIMARY KEY (context_id)
);
CREATE INDEX resets_slot ON resets (sid, slot, place);
CREATE INDEX resets_at ON resets (reset_at);

-- +goose Down
DROP TABLE resets;
