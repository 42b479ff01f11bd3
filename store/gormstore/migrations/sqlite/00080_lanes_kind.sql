-- +goose Up
ALTER TABLE lanes ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE lanes DROP COLUMN kind;
