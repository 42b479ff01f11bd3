-- +goose Up
CREATE TABLE thread_aliases (
  alias_hash BLOB NOT NULL,
  thread     TEXT NOT NULL,
  used_at    INTEGER NOT NULL,
  PRIMARY KEY (alias_hash)
) WITHOUT ROWID;
CREATE INDEX thread_aliases_used ON thread_aliases (used_at);

-- +goose Down
DROP TABLE thread_aliases;
