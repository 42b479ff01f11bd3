-- +goose Up
SET @ddl = (SELECT IF(COUNT(*) = 0, 'ALTER TABLE inbound ADD COLUMN costs TEXT NULL, ADD COLUMN costs_at BIGINT NULL, ADD KEY inbound_costs (costs_at)', 'DO 0')
  FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'inbound' AND column_name = 'costs_at');
PREPARE migration FROM @ddl;
EXECUTE migration;
DEALLOCATE PREPARE migration;

-- +goose Down
ALTER TABLE inbound DROP KEY inbound_costs, DROP COLUMN costs_at, DROP COLUMN costs;
