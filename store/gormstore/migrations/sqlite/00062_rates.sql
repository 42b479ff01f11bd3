-- +goose Up
CREATE TABLE rates (
  key_hash   BLOB NOT NULL,
  started_at INTEGER NOT NULL,
  used       INTEGER NOT NULL,
  PRIMARY KEY (key_hash)
) WITHOUT ROWID;
CREATE INDEX rates_started ON rates (started_at);

-- +goose Down
DROP TABLE rates;
