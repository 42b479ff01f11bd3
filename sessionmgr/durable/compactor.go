package durable

import (
	"context"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/sessionmgr"
	"github.com/chatkeep/chatkeep/sessionmgr/compact"
)

// Compactor summarises sessions of the product's store by one model.
type Compactor struct {
	compactor *compact.Compactor
	cfg       sessionmgr.Config
	model     compact.Model
	window    int
}

var _ sessionmgr.Compactor = (*Compactor)(nil)

// NewCompactor returns a compactor for a manager over [New] with the same
// configuration. The model's window is in tokens; zero: unknown. A nil clock is the
// real one.
func NewCompactor(s compact.Store, c clock.Clock, cfg sessionmgr.Config, model compact.Model, window int) *Compactor {
	if c == nil {
		c = clock.Real()
	}
	return &Compactor{compactor: compact.New(s, c, nil), cfg: cfg, model: model, window: window}
}

// Compact summarises the session's current slot, whether or not it is due.
func (c *Compactor) Compact(ctx context.Context, key string) (bool, error) {
	result, err := c.compactor.Compact(ctx, compact.Request{
		Key: key, Keep: c.cfg.Compaction.KeepRecentCount, Fit: c.cfg.MaxTokenCount * 3 / 4, Model: c.model, Window: c.window,
	})
	return result.Changed, translate("compact session", err)
}
