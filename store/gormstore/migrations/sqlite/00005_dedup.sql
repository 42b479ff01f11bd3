-- +goose Up
CREATE TABLE dedup (
  key_hash   BLOB NOT NULL,
  inbound_id TEXT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (key_hash)
) WITHOUT ROWID;
CREATE INDEX dedup_created ON dedup (created_at);

-- +goose Down
DROP TABLE dedup;
