-- +goose Up
CREATE TABLE full_results (
  sid        BLOB NOT NULL,
  id         TEXT NOT NULL,
  inbound_id TEXT NOT NULL,
  tool       TEXT NOT NULL,
  size       INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  content    TEXT NOT NULL,
  PRIMARY KEY (sid, id)
);
CREATE INDEX full_results_age ON full_results (created_at);

-- +goose Down
DROP TABLE full_results;
