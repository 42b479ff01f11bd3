-- What a context shows of a slot's messages. weight and unpruned find slots for the
-- jobs: they are coarse, so that few messages move an index.

-- +goose Up
ALTER TABLE slots ADD COLUMN compacted_through INTEGER NOT NULL DEFAULT 0;
ALTER TABLE slots ADD COLUMN compacted_messages INTEGER NOT NULL DEFAULT 0;
ALTER TABLE slots ADD COLUMN compacted_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE slots ADD COLUMN summary_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE slots ADD COLUMN merged_through INTEGER NOT NULL DEFAULT 0;
ALTER TABLE slots ADD COLUMN pruned_through INTEGER NOT NULL DEFAULT 0;
ALTER TABLE slots ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE slots ADD COLUMN weight INTEGER AS (CASE WHEN compact = 0 THEN -1 ELSE (total_tokens - compacted_tokens) / 4096 END) VIRTUAL;
ALTER TABLE slots ADD COLUMN unpruned INTEGER AS ((next_seq - 1 - pruned_through) / 8) VIRTUAL;

-- +goose Down
ALTER TABLE slots DROP COLUMN unpruned;
ALTER TABLE slots DROP COLUMN weight;
ALTER TABLE slots DROP COLUMN revision;
ALTER TABLE slots DROP COLUMN pruned_through;
ALTER TABLE slots DROP COLUMN merged_through;
ALTER TABLE slots DROP COLUMN summary_seq;
ALTER TABLE slots DROP COLUMN compacted_tokens;
ALTER TABLE slots DROP COLUMN compacted_messages;
ALTER TABLE slots DROP COLUMN compacted_through;
