-- +goose Up
CREATE INDEX sessions_used ON sessions (state, pinned, last_user_at, created_at, sid);
DROP INDEX sessions_user;

-- +goose Down
CREATE INDEX sessions_user ON sessions (state, last_user_at, sid);
DROP INDEX sessions_used;
