-- +goose Up
ALTER TABLE deliveries ADD COLUMN queued_at INTEGER NULL;

-- +goose Down
ALTER TABLE deliveries DROP COLUMN queued_at;
