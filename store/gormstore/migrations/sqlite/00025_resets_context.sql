-- +goose Up
ALTER TABLE resets ADD COLUMN compacted_through INTEGER NOT NULL DEFAULT 0;
ALTER TABLE resets ADD COLUMN compacted_messages INTEGER NOT NULL DEFAULT 0;
ALTER TABLE resets ADD COLUMN compacted_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE resets ADD COLUMN summary_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE resets ADD COLUMN merged_through INTEGER NOT NULL DEFAULT 0;
ALTER TABLE resets ADD COLUMN pruned_through INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE resets DROP COLUMN pruned_through;
ALTER TABLE resets DROP COLUMN merged_through;
ALTER TABLE resets DROP COLUMN summary_seq;
ALTER TABLE resets DROP COLUMN compacted_tokens;
ALTER TABLE resets DROP COLUMN compacted_messages;
ALTER TABLE resets DROP COLUMN compacted_through;
