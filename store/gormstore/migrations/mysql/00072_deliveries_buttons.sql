-- +goose Up
SET @ddl = (SELECT IF(COUNT(*) = 0, 'ALTER TABLE deliveries ADD COLUMN buttons TEXT NULL', 'DO 0')
  FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'deliveries' AND column_name = 'buttons');
PREPARE migration FROM @ddl;
EXECUTE migration;
DEALLOCATE PREPARE migration;

-- +goose Down
ALTER TABLE deliveries DROP COLUMN buttons;
