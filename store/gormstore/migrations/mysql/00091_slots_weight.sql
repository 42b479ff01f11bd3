-- Where little is heavy enough already, most slots were in the first step of weight, and
-- the job read all of them: steps are of 256 tokens below 4096. A heavier slot is in no
-- lower step than before, so that older binaries find what they look for.

-- +goose Up
ALTER TABLE slots MODIFY COLUMN weight BIGINT AS (CASE WHEN compact = 0 THEN -1
    WHEN total_tokens - compacted_tokens < 4096 THEN (total_tokens - compacted_tokens) DIV 256
    ELSE 15 + (total_tokens - compacted_tokens) DIV 4096 END) VIRTUAL;

-- +goose Down
ALTER TABLE slots MODIFY COLUMN weight BIGINT AS (CASE WHEN compact = 0 THEN -1 ELSE (total_tokens - compacted_tokens) DIV 4096 END) VIRTUAL;
