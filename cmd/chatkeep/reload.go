package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/internal/clock"
)

// reload reads the configuration again, applies what a running gateway can take
// over, and names in the log what needs a restart. A configuration with an error
// changes nothing.
func (a *app) reload(ctx context.Context, path string, level *slog.LevelVar) error {
	next, err := config.Load(path, os.Environ())
	if err != nil {
		return err
	}
	merged, safe, restart := config.Merge(a.cfg.Load(), next)
	agents, err := buildAgents(merged, a.tools, clock.Real())
	if err != nil {
		return err
	}
	settings, err := settingsOf(merged, agents)
	if err != nil {
		return fmt.Errorf("apply configuration: %w", err)
	}
	a.gateway.Reload(settings)
	a.cfg.Store(merged)
	level.Set(logLevel(merged.Log))
	a.log.Info("configuration reloaded", "applied", safe, "needsRestart", restart)
	if err := a.gateway.SyncTasks(ctx, configuredTasks(merged, a.gateway)); err != nil {
		a.log.Error("tasks of the configuration were not all taken over", "error", err)
	}
	return nil
}
