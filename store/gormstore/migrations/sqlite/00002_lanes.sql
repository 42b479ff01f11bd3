-- +goose Up
CREATE TABLE lanes (
  sid          BLOB NOT NULL,
  session_key  TEXT NOT NULL,
  due_at       INTEGER NULL,
  fence        INTEGER NOT NULL,
  attempts     INTEGER NOT NULL,
  lease_owner  TEXT NULL,
  last_seq     INTEGER NOT NULL,
  slot         TEXT NOT NULL,
  epoch        INTEGER NOT NULL,
  deleted_seq  INTEGER NOT NULL,
  change_token TEXT NULL,
  PRIMARY KEY (sid)
) WITHOUT ROWID;
CREATE INDEX lanes_due ON lanes (due_at, sid);

-- +goose Down
DROP TABLE lanes;
