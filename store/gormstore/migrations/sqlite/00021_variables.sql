-- +goose Up
CREATE TABLE variables (
  sid   BLOB NOT NULL,
  name  TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (sid, name)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE variables;
