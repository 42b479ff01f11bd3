-- +goose Up
CREATE TABLE plan_files (
  sid     BLOB NOT NULL,
  name    TEXT NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (sid, name)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE plan_files;
