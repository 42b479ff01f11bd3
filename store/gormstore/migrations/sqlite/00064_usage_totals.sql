-- +goose Up
CREATE TABLE usage_totals (
  kind              TEXT NOT NULL,
  day               INTEGER NOT NULL,
  subject_hash      BLOB NOT NULL,
  model             TEXT NOT NULL,
  subject           TEXT NOT NULL,
  prompt_tokens     INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL,
  turns             INTEGER NOT NULL,
  errors            INTEGER NOT NULL,
  PRIMARY KEY (kind, day, subject_hash, model)
) WITHOUT ROWID;
CREATE INDEX usage_subject ON usage_totals (subject_hash);
CREATE INDEX usage_day ON usage_totals (day);

-- +goose Down
DROP TABLE usage_totals;
