-- What a context shows of a slot's messages. weight and unpruned find slots for the
-- jobs: they are coarse, so that few messages move an index.

-- +goose Up
SET @ddl = (SELECT IF(COUNT(*) = 0, 'ALTER TABLE slots
    ADD COLUMN compacted_through BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN compacted_messages BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN compacted_tokens BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN summary_seq BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN merged_through BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN pruned_through BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN revision BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN weight BIGINT AS (CASE WHEN compact = 0 THEN -1 ELSE (total_tokens - compacted_tokens) DIV 4096 END) VIRTUAL,
    ADD COLUMN unpruned BIGINT AS ((next_seq - 1 - pruned_through) DIV 8) VIRTUAL', 'DO 0')
  FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'slots' AND column_name = 'unpruned');
PREPARE migration FROM @ddl;
EXECUTE migration;
DEALLOCATE PREPARE migration;

-- +goose Down
ALTER TABLE slots DROP COLUMN unpruned, DROP COLUMN weight, DROP COLUMN revision, DROP COLUMN pruned_through, DROP COLUMN merged_through,
  DROP COLUMN summary_seq, DROP COLUMN compacted_tokens, DROP COLUMN compacted_messages, DROP COLUMN compacted_through;
