-- +goose Up
SET @ddl = (SELECT IF(COUNT(*) = 0, 'ALTER TABLE sessions ADD KEY sessions_used (state, pinned, last_user_at, created_at, sid), DROP KEY sessions_user', 'DO 0')
  FROM information_schema.statistics
  WHERE table_schema = DATABASE() AND table_name = 'sessions' AND index_name = 'sessions_used');
PREPARE migration FROM @ddl;
EXECUTE migration;
DEALLOCATE PREPARE migration;

-- +goose Down
ALTER TABLE sessions ADD KEY sessions_user (state, last_user_at, sid), DROP KEY sessions_used;
