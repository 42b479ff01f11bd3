-- +goose Up
UPDATE lanes SET kind = 1 WHERE session_key LIKE '%:scope:task:%';

-- +goose Down
DO 0;
