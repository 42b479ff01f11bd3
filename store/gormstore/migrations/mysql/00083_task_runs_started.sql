-- +goose Up
SET @ddl = (SELECT IF(COUNT(*) = 0, 'ALTER TABLE task_runs CHANGE COLUMN fired_at started_at BIGINT NULL', 'DO 0')
  FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'task_runs' AND column_name = 'started_at');
PREPARE migration FROM @ddl;
EXECUTE migration;
DEALLOCATE PREPARE migration;

-- +goose Down
UPDATE task_runs SET started_at = scheduled_at WHERE started_at IS NULL;
ALTER TABLE task_runs CHANGE COLUMN started_at fired_at BIGINT NOT NULL;
