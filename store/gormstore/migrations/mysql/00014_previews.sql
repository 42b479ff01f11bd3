-- +goose Up
CREATE TABLE IF NOT EXISTS previews (
  id          VARBINARY(256) NOT NULL,
  inbound_id  VARBINARY(256) NOT NULL,
  sid         BINARY(32) NOT NULL,
  session_key VARBINARY(2700) NOT NULL,
  channel     VARBINARY(64) NOT NULL,
  account     VARBINARY(64) NOT NULL,
  target      LONGTEXT NOT NULL,
  state       LONGBLOB NULL,
  shown       TINYINT NOT NULL,
  closing     TINYINT NOT NULL,
  created_at  BIGINT NOT NULL,
  PRIMARY KEY (id),
  KEY previews_inbound (inbound_id),
  KEY previews_session (sid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS previews;
