-- +goose Up
CREATE TABLE targets (
  id          BLOB NOT NULL,
  chat        BLOB NOT NULL,
  channel     TEXT NOT NULL,
  account     TEXT NOT NULL,
  due_at      INTEGER NULL,
  fence       INTEGER NOT NULL,
  attempts    INTEGER NOT NULL,
  lease_owner TEXT NULL,
  last_seq    INTEGER NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX targets_due ON targets (due_at, id);
CREATE INDEX targets_chat ON targets (chat);

-- +goose Down
DROP TABLE targets;
