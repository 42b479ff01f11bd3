-- +goose Up
CREATE TABLE IF NOT EXISTS notes (
  sid        BINARY(32) NOT NULL,
  place      BIGINT NOT NULL,
  id         VARBINARY(64) NOT NULL,
  note_key   VARBINARY(256) NULL,
  value      TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (sid, place),
  UNIQUE KEY notes_id (sid, id),
  UNIQUE KEY notes_key (sid, note_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS notes;
