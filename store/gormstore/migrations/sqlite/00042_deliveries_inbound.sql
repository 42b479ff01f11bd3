-- +goose Up
CREATE INDEX deliveries_inbound ON deliveries (inbound_id);

-- +goose Down
DROP INDEX deliveries_inbound;
