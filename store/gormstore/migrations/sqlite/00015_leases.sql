-- +goose Up
CREATE TABLE leases (
  name    TEXT NOT NULL,
  owner   TEXT NOT NULL,
  ends_at INTEGER NOT NULL,
  PRIMARY KEY (name)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE leases;
