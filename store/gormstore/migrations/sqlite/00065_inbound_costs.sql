-- +goose Up
ALTER TABLE inbound ADD COLUMN costs TEXT NULL;
ALTER TABLE inbound ADD COLUMN costs_at INTEGER NULL;
CREATE INDEX inbound_costs ON inbound (costs_at) WHERE costs_at IS NOT NULL;

-- +goose Down
DROP INDEX inbound_costs;
ALTER TABLE inbound DROP COLUMN costs_at;
ALTER TABLE inbound DROP COLUMN costs;
