package sessionmgr

import (
	"context"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/models"
)

func (m *manager) AddMessage(ctx context.Context, key string, message *models.SessionMessage) error {
	err := m.append(ctx, key, []*models.SessionMessage{message}, func(messages []*models.SessionMessage) error {
		return m.storage.AddMessage(ctx, key, messages[0])
	})
	if err != nil {
		return fmt.Errorf("add message: %w", err)
	}
	return nil
}

func (m *manager) AppendTurn(ctx context.Context, key string, messages []*models.SessionMessage) error {
	turns, ok := m.storage.(TurnStorage)
	if !ok {
		return fmt.Errorf("append turn: %w", ErrTurnsUnsupported)
	}
	if len(messages) == 0 {
		return nil
	}
	err := m.append(ctx, key, messages, func(messages []*models.SessionMessage) error {
		return turns.AppendTurn(ctx, key, messages)
	})
	if err != nil {
		return fmt.Errorf("append turn: %w", err)
	}
	return nil
}

// append checks and completes messages, and keeps the session's counts unless the
// storage does.
func (m *manager) append(ctx context.Context, key string, given []*models.SessionMessage, store func([]*models.SessionMessage) error) error {
	now := m.now()
	messages := make([]*models.SessionMessage, len(given))
	for i, message := range given {
		if err := checkMessage(message); err != nil {
			return err
		}
		messages[i] = m.complete(message, now)
	}
	if m.storageCounts {
		return store(messages)
	}
	return m.appendCounted(ctx, key, messages, now, store)
}

// appendCounted writes the counts before the messages and takes them back if
// those cannot be stored: an error then always means that nothing was appended.
func (m *manager) appendCounted(ctx context.Context, key string, messages []*models.SessionMessage, now time.Time, store func([]*models.SessionMessage) error) error {
	unlock, err := m.locks.lock(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	before, err := m.get(ctx, key)
	if err != nil {
		return err
	}
	last, err := m.storage.GetHistory(ctx, key, 1)
	if err != nil {
		return err
	}
	seq := int64(0)
	if len(last) > 0 {
		seq = last[len(last)-1].Seq
	}
	before.Messages = nil
	after := before.Clone()
	for _, message := range messages {
		seq++
		message.Seq, message.Slot = seq, slotOf(before)
		count(after, message, now)
	}
	if err := m.storage.Update(ctx, after); err != nil {
		return err
	}
	if err := store(messages); err != nil {
		if undo := m.storage.Update(context.WithoutCancel(ctx), before); undo != nil {
			return fmt.Errorf("%w (and the counts stay: %w)", err, undo)
		}
		return err
	}
	return nil
}

// count adds a message to what its session says of itself. A person's message
// wakes the session; all else is bookkeeping that does not.
func count(s *models.Session, message *models.SessionMessage, now time.Time) {
	s.MessageCount++
	s.TotalTokenCount += message.TokenCount
	s.UpdatedAt = now
	s.LastActivityAt = later(s.LastActivityAt, now)
	if message.Role == models.RoleUser && !message.Observed {
		s.State = models.SessionActive
		s.LastUserAt = later(s.LastUserAt, now)
	}
}
