-- When a session was last restored from the archive by hand: archiving counts from then.

-- +goose Up
SET @ddl = (SELECT IF(COUNT(*) = 0, 'ALTER TABLE sessions ADD COLUMN restored_at BIGINT NULL', 'DO 0')
  FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'sessions' AND column_name = 'restored_at');
PREPARE migration FROM @ddl;
EXECUTE migration;
DEALLOCATE PREPARE migration;

-- +goose Down
ALTER TABLE sessions DROP COLUMN restored_at;
