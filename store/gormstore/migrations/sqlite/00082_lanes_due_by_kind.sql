-- +goose Up
CREATE INDEX lanes_due_by_kind ON lanes (kind, due_at, sid);
DROP INDEX lanes_due;

-- +goose Down
CREATE INDEX lanes_due ON lanes (due_at, sid);
DROP INDEX lanes_due_by_kind;
