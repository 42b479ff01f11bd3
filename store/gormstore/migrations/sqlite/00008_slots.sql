-- +goose Up
CREATE TABLE slots (
  sid           BLOB NOT NULL,
  name          TEXT NOT NULL,
  context_id    BLOB NOT NULL,
  mode          TEXT NOT NULL,
  focus         TEXT NULL,
  source        TEXT NULL,
  budget        TEXT NULL,
  compact       INTEGER NOT NULL,
  next_seq      INTEGER NOT NULL,
  message_count INTEGER NOT NULL,
  total_tokens  INTEGER NOT NULL,
  place         INTEGER NOT NULL,
  user_at       INTEGER NOT NULL,
  model_at      INTEGER NOT NULL,
  active_at     INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  created_at    INTEGER NOT NULL,
  PRIMARY KEY (sid, name)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE slots;
