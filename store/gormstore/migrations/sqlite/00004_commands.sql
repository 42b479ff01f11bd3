-- +goose Up
CREATE TABLE commands (
  inbound_id  TEXT NOT NULL,
  due_at      INTEGER NOT NULL,
  lease_owner TEXT NULL,
  PRIMARY KEY (inbound_id)
) WITHOUT ROWID;
CREATE INDEX commands_due ON commands (due_at, inbound_id);

-- +goose Down
DROP TABLE commands;
