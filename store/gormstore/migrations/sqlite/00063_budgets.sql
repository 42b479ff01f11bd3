-- +goose Up
CREATE TABLE budgets (
  key_hash BLOB NOT NULL,
  day      INTEGER NOT NULL,
  tokens   INTEGER NOT NULL,
  extra    INTEGER NOT NULL,
  PRIMARY KEY (key_hash)
) WITHOUT ROWID;
CREATE INDEX budgets_day ON budgets (day);

-- +goose Down
DROP TABLE budgets;
