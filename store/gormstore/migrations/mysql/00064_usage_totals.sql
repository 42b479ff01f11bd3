-- +goose Up
CREATE TABLE IF NOT EXISTS usage_totals (
  kind              VARBINARY(8) NOT NULL,
  day               INT NOT NULL,
  subject_hash      BINARY(32) NOT NULL,
  model             VARBINARY(256) NOT NULL,
  subject           VARBINARY(2688) NOT NULL,
  prompt_tokens     BIGINT NOT NULL,
  completion_tokens BIGINT NOT NULL,
  turns             BIGINT NOT NULL,
  errors            BIGINT NOT NULL,
  PRIMARY KEY (kind, day, subject_hash, model),
  KEY usage_subject (subject_hash),
  KEY usage_day (day)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS usage_totals;
