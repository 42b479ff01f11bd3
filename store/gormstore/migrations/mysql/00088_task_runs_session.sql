-- +goose Up
-- One DDL that can be run again: MySQL has no CREATE INDEX IF NOT EXISTS.
SET @ddl = (SELECT IF(COUNT(*) = 0, 'CREATE INDEX task_runs_session ON task_runs (session_key(255))', 'DO 0')
  FROM information_schema.statistics
  WHERE table_schema = DATABASE() AND table_name = 'task_runs' AND index_name = 'task_runs_session');
PREPARE migration FROM @ddl;
EXECUTE migration;
DEALLOCATE PREPARE migration;

-- +goose Down
DROP INDEX task_runs_session ON task_runs;
