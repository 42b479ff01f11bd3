-- +goose Up
ALTER TABLE deliveries ADD COLUMN buttons TEXT NULL;

-- +goose Down
ALTER TABLE deliveries DROP COLUMN buttons;
