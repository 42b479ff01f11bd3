-- +goose Up
-- One DDL that can be run again: MySQL has no CREATE INDEX IF NOT EXISTS.
SET @ddl = (SELECT IF(COUNT(*) = 0, 'CREATE INDEX deliveries_inbound ON deliveries (inbound_id)', 'DO 0')
  FROM information_schema.statistics
  WHERE table_schema = DATABASE() AND table_name = 'deliveries' AND index_name = 'deliveries_inbound');
PREPARE migration FROM @ddl;
EXECUTE migration;
DEALLOCATE PREPARE migration;

-- +goose Down
DROP INDEX deliveries_inbound ON deliveries;
