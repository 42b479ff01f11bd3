package main

import (
	"context"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// chats joins what the HTTP side needs to take a message and to tell its outcome.
type chats struct {
	*gateway.Gateway

	inbox store.Inbox
}

// Inbound returns a message as it is stored.
func (c chats) Inbound(ctx context.Context, id string) (*models.Inbound, error) {
	return c.inbox.Inbound(ctx, id)
}

// health joins what readiness and statistics look at.
type health struct {
	*gateway.Gateway

	store store.Store
}

// Ping asks the database.
func (h health) Ping(ctx context.Context) error { return h.store.Ping(ctx) }

// Durable tells whether the store outlives the process.
func (h health) Durable() bool { return h.store.Durable() }

// Stats counts what is stored.
func (h health) Stats(ctx context.Context) (store.Stats, error) { return h.store.Stats(ctx) }
