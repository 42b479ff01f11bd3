-- +goose Up
SET @ddl = (SELECT IF(COUNT(*) = 0, 'ALTER TABLE resets
    ADD COLUMN compacted_through BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN compacted_messages BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN compacted_tokens BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN summary_seq BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN merged_through BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN pruned_through BIGINT NOT NULL DEFAULT 0', 'DO 0')
  FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'resets' AND column_name = 'pruned_through');
PREPARE migration FROM @ddl;
EXECUTE migration;
DEALLOCATE PREPARE migration;

-- +goose Down
ALTER TABLE resets DROP COLUMN pruned_through, DROP COLUMN merged_through, DROP COLUMN summary_seq,
  DROP COLUMN compacted_tokens, DROP COLUMN compacted_messages, DROP COLUMN compacted_through;
