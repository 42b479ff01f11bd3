-- +goose Up
CREATE TABLE pruned_forms (
  context_id BLOB NOT NULL,
  seq        INTEGER NOT NULL,
  pruned     TEXT NOT NULL,
  content    TEXT NOT NULL,
  PRIMARY KEY (context_id, seq)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE pruned_forms;
