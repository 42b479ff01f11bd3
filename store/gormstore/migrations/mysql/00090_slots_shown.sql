-- Where the context starts that a model was last shown of a slot; 0: not known.

-- +goose Up
SET @ddl = (SELECT IF(COUNT(*) = 0, 'ALTER TABLE slots
    ADD COLUMN shown_from BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN results_from BIGINT NOT NULL DEFAULT 0', 'DO 0')
  FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'slots' AND column_name = 'results_from');
PREPARE migration FROM @ddl;
EXECUTE migration;
DEALLOCATE PREPARE migration;

-- +goose Down
ALTER TABLE slots DROP COLUMN results_from, DROP COLUMN shown_from;
