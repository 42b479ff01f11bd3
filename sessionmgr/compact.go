package sessionmgr

import (
	"context"
	"errors"
	"fmt"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/compact"
)

// ErrNoCompactor is returned where a session should be compacted and nobody can.
var ErrNoCompactor = errors.New("no compactor")

// Compactor summarises the current slot of a session. The seven methods of a
// [SessionStorage] cannot set messages aside, so it works on its own storage; the one
// over the product's store is sessionmgr/durable.Compactor.
type Compactor interface {
	// Compact reports whether it changed the session. On an error the history is
	// as it was.
	Compact(ctx context.Context, key string) (bool, error)
}

func (m *manager) CompactIfNeeded(ctx context.Context, key string) (bool, error) {
	session, err := m.Get(ctx, key)
	if err != nil {
		return false, fmt.Errorf("compact if needed: %w", err)
	}
	if !compactionDue(m.cfg.Compaction, session.Messages) {
		return false, nil
	}
	if m.compactor == nil {
		return false, fmt.Errorf("compact if needed: %w", ErrNoCompactor)
	}
	changed, err := m.compactor.Compact(ctx, key)
	if err != nil {
		return false, fmt.Errorf("compact if needed: %w", err)
	}
	return changed, nil
}

// compactionDue reports whether the messages since the last summary, with it, are
// as many and as large as the configuration says.
func compactionDue(cfg CompactionConfig, messages []*models.SessionMessage) bool {
	if !cfg.Enabled {
		return false
	}
	for i := len(messages) - 1; i > 0; i-- {
		if messages[i].IsCompacted {
			messages = messages[i:]
			break
		}
	}
	total := 0
	for _, message := range messages {
		total += message.TokenCount
	}
	return compact.Due(len(messages), total, cfg.MinMessagesToCompact, cfg.MaxTokenCount, cfg.TriggerThreshold)
}
