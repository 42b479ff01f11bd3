-- When a session was last restored from the archive by hand: archiving counts from then.

-- +goose Up
ALTER TABLE sessions ADD COLUMN restored_at INTEGER NULL;

-- +goose Down
ALTER TABLE sessions DROP COLUMN restored_at;
