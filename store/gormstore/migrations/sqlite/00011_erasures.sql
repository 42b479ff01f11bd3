-- +goose Up
CREATE TABLE erasures (
  kind    TEXT NOT NULL,
  ref     BLOB NOT NULL,
  through INTEGER NOT NULL,
  PRIMARY KEY (kind, ref)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE erasures;
