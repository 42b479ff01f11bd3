-- oldest_version is the schema version that a binary must know at least to run
-- on this schema. A migration that older binaries cannot run on raises it.

-- +goose Up
CREATE TABLE IF NOT EXISTS schema_meta (
  id             INTEGER NOT NULL,
  oldest_version INTEGER NOT NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB;
INSERT IGNORE INTO schema_meta (id, oldest_version) VALUES (1, 1);

-- +goose Down
DROP TABLE schema_meta;
