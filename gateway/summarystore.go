package gateway

import (
	"context"

	"github.com/chatkeep/chatkeep/store"
)

// summaryStore is the store as summaries are made from it.
type summaryStore struct {
	store.Store

	g *Gateway
}

// LoadContext is part of [store.History]. A summary is not made of what people said who
// may not use the bot any more either.
func (s summaryStore) LoadContext(ctx context.Context, key, slot string, limit int) (*store.SessionContext, error) {
	stored, err := s.Store.LoadContext(ctx, key, slot, limit)
	if err != nil {
		return nil, err
	}
	all := stored.Messages
	if stored.Messages, err = s.g.withhold(ctx, s.g.settings.Load(), key, all); err != nil {
		return nil, err
	}
	stored.LiveMessages -= len(all) - len(stored.Messages) // they are not older ones that were not read
	return stored, nil
}

// ChangeSession is part of [store.Sessions]. Its commit is one of the crash points; once
// begun it is not cancelled, so that what became of it is known.
func (s summaryStore) ChangeSession(ctx context.Context, key string, change func(tx store.SessionTx) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.g.cfg.Lease)
	defer cancel()
	err := s.Store.ChangeSession(ctx, key, func(tx store.SessionTx) error {
		err := change(tx)
		if err == nil {
			s.g.crash(CrashBeforeCompaction)
		}
		return err
	})
	if err == nil {
		s.g.crash(CrashAfterCompaction)
	}
	return err
}
