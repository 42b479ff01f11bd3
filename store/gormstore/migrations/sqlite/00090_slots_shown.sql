-- Where the context starts that a model was last shown of a slot; 0: not known.

-- +goose Up
ALTER TABLE slots ADD COLUMN shown_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE slots ADD COLUMN results_from INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE slots DROP COLUMN results_from;
ALTER TABLE slots DROP COLUMN shown_from;
