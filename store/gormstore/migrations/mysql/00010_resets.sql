-- +goose Up
CREATE TABLE IF NOT EXISTS resets (
  context_id        BINARY(16) NOT NULL,
  sid               BINARY(32) NOT NULL,
  slot              VARBINARY(64) NOT NULL,
  next_seq          BIGINT NOT NULL,
  message_count     BIGINT NOT NULL,
  total_tokens      BIGINT NOT NULL,
  compacted_summary LONGTEXT NOT NULL,
  reset_at          BIGINT NOT NULL,
  place             BIGINT NOT NULL,
  PRIMARY KEY (context_id),
  KEY resets_slot (sid, slot, place),
  KEY resets_at (reset_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS resets;
