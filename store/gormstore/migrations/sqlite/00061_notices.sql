-- +goose Up
CREATE TABLE notices (
  key_hash BLOB NOT NULL,
  ends_at  INTEGER NOT NULL,
  PRIMARY KEY (key_hash)
) WITHOUT ROWID;
CREATE INDEX notices_ends ON notices (ends_at);

-- +goose Down
DROP TABLE notices;
