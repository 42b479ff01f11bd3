-- +goose Up
ALTER TABLE slots ADD COLUMN title TEXT NULL;

-- +goose Down
ALTER TABLE slots DROP COLUMN title;
