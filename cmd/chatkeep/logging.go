package main

import (
	"io"
	"log/slog"

	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/sessionmgr/chatctx"
)

// newLogger writes to w in the configured form. level may be changed later.
func newLogger(cfg config.Log, level *slog.LevelVar, w io.Writer) *slog.Logger {
	level.Set(logLevel(cfg))
	options := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(w, options)
	if cfg.Format == config.LogJSON {
		h = slog.NewJSONHandler(w, options)
	}
	return slog.New(chatctx.NewLogHandler(h))
}

func logLevel(cfg config.Log) slog.Level {
	switch cfg.Level {
	case config.LogDebug:
		return slog.LevelDebug
	case config.LogWarn:
		return slog.LevelWarn
	case config.LogError:
		return slog.LevelError
	default:
		return slog.LevelInfo
	}
}
