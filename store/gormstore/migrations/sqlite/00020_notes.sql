-- +goose Up
CREATE TABLE notes (
  sid        BLOB NOT NULL,
  place      INTEGER NOT NULL,
  id         TEXT NOT NULL,
  note_key   TEXT NULL,
  value      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (sid, place)
) WITHOUT ROWID;
CREATE UNIQUE INDEX notes_id ON notes (sid, id);
CREATE UNIQUE INDEX notes_key ON notes (sid, note_key);

-- +goose Down
DROP TABLE notes;
