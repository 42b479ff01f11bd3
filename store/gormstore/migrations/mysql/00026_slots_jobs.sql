-- +goose Up
SET @ddl = (SELECT IF(COUNT(*) = 0, 'ALTER TABLE slots ADD KEY slots_weight (weight, sid, name), ADD KEY slots_unpruned (unpruned, sid, name)', 'DO 0')
  FROM information_schema.statistics
  WHERE table_schema = DATABASE() AND table_name = 'slots' AND index_name = 'slots_unpruned');
PREPARE migration FROM @ddl;
EXECUTE migration;
DEALLOCATE PREPARE migration;

-- +goose Down
ALTER TABLE slots DROP KEY slots_weight, DROP KEY slots_unpruned;
