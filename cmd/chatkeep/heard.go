package main

import (
	"context"

	"github.com/chatkeep/chatkeep/store"
)

// heardHistory searches the history for a model, which is not told what people said, or
// were answered, who may not use the bot any more.
type heardHistory struct {
	search store.Search
	chats  *turnChats
}

// SearchMessages is part of [store.Search].
func (h heardHistory) SearchMessages(ctx context.Context, q store.MessageQuery) ([]store.FoundMessage, string, error) {
	q.WithAsked = true
	found, next, err := h.search.SearchMessages(ctx, q)
	if g := h.chats.gateway.Load(); err == nil && g != nil {
		found, err = g.HeardMessages(ctx, found)
	}
	return found, next, err
}
