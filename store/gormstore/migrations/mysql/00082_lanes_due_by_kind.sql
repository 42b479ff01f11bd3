-- +goose Up
SET @ddl = (SELECT IF(COUNT(*) = 0, 'ALTER TABLE lanes ADD KEY lanes_due_by_kind (kind, due_at, sid), DROP KEY lanes_due', 'DO 0')
  FROM information_schema.statistics
  WHERE table_schema = DATABASE() AND table_name = 'lanes' AND index_name = 'lanes_due_by_kind');
PREPARE migration FROM @ddl;
EXECUTE migration;
DEALLOCATE PREPARE migration;

-- +goose Down
ALTER TABLE lanes ADD KEY lanes_due (due_at, sid), DROP KEY lanes_due_by_kind;
