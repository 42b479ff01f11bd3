-- +goose Up
CREATE TABLE IF NOT EXISTS lanes (
  sid          BINARY(32) NOT NULL,
  session_key  VARBINARY(2700) NOT NULL,
  due_at       BIGINT NULL,
  fence        BIGINT NOT NULL,
  attempts     INT NOT NULL,
  lease_owner  VARBINARY(200) NULL,
  last_seq     BIGINT NOT NULL,
  slot         VARBINARY(64) NOT NULL,
  epoch        BIGINT NOT NULL,
  deleted_seq  BIGINT NOT NULL,
  change_token VARBINARY(64) NULL,
  PRIMARY KEY (sid),
  KEY lanes_due (due_at, sid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS lanes;
