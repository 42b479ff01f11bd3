-- +goose Up
CREATE TABLE messages (
  context_id BLOB NOT NULL,
  seq        INTEGER NOT NULL,
  turn_seq   INTEGER NOT NULL,
  id         TEXT NOT NULL,
  role       TEXT NOT NULL,
  content    TEXT NOT NULL,
  meta       TEXT NULL,
  tokens     INTEGER NOT NULL,
  compacted  INTEGER NOT NULL,
  undone     INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (context_id, seq)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE messages;
