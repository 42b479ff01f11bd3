-- +goose Up
CREATE TABLE previews (
  id          TEXT NOT NULL,
  inbound_id  TEXT NOT NULL,
  sid         BLOB NOT NULL,
  session_key TEXT NOT NULL,
  channel     TEXT NOT NULL,
  account     TEXT NOT NULL,
  target      TEXT NOT NULL,
  state       BLOB NULL,
  shown       INTEGER NOT NULL,
  closing     INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX previews_inbound ON previews (inbound_id);
CREATE INDEX previews_session ON previews (sid);

-- +goose Down
DROP TABLE previews;
