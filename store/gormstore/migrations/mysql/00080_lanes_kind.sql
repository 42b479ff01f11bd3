-- +goose Up
SET @ddl = (SELECT IF(COUNT(*) = 0, 'ALTER TABLE lanes ADD COLUMN kind TINYINT NOT NULL DEFAULT 0', 'DO 0')
  FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'lanes' AND column_name = 'kind');
PREPARE migration FROM @ddl;
EXECUTE migration;
DEALLOCATE PREPARE migration;

-- +goose Down
ALTER TABLE lanes DROP COLUMN kind;
