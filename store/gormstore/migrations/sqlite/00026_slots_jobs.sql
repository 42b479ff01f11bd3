-- +goose Up
CREATE INDEX slots_weight ON slots (weight, sid, name);
CREATE INDEX slots_unpruned ON slots (unpruned, sid, name);

-- +goose Down
DROP INDEX slots_weight;
DROP INDEX slots_unpruned;
