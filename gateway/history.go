package gateway

import (
	"context"
	"errors"
	"slices"

	"github.com/chatkeep/chatkeep/gateway/command"
	"github.com/chatkeep/chatkeep/internal/words"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// spoken are the roles of what people said and were answered.
var spoken = []models.Role{models.RoleUser, models.RoleAssistant}

// recentMessages is how many messages the newest that were spoken are taken from:
// others are calls of tools and their results.
const recentMessages = 100

// history reads what /history shows: the newest messages of a session's current
// slot, or those of all its slots that have the words of a query.
func (g *Gateway) history(ctx context.Context, key, query string) (*command.History, error) {
	h := &command.History{Zone: g.settings.Load().Location}
	var err error
	h.Words, err = words.Parse(query)
	switch {
	case errors.Is(err, words.ErrTooMany):
		h.TooMany = true
		return h, nil
	case err == nil:
		return h, g.findWords(ctx, key, h)
	}
	read := 0
	err = g.newestFirst(ctx, key, "", func(m *models.SessionMessage) bool {
		if m.Role == models.RoleUser || m.Role == models.RoleAssistant && m.Content != "" {
			h.Messages = append(h.Messages, m)
		}
		read++
		return read < recentMessages && len(h.Messages) < command.ShownMessages
	})
	if errors.Is(err, store.ErrNotFound) { // nothing was said yet
		return h, nil
	}
	slices.Reverse(h.Messages)
	return h, err
}

// wholePage is how many messages are read at once with all they hold: each may have
// some megabytes of pictures.
const wholePage = 20

// newestFirst visits the messages of a slot (empty: the current one) until visit
// returns false.
func (g *Gateway) newestFirst(ctx context.Context, key, slot string, visit func(*models.SessionMessage) bool) error {
	for before := int64(0); ; {
		page, err := g.store.Messages(ctx, key, slot, before, wholePage)
		if err != nil {
			return err
		}
		for _, m := range slices.Backward(page) {
			if !visit(m) {
				return nil
			}
		}
		if len(page) < wholePage {
			return nil
		}
		before, slot = page[0].Seq, page[0].Slot
	}
}

// findWords fills in the messages that have the words, each once: a slot may hold
// copies of another one's.
func (g *Gateway) findWords(ctx context.Context, key string, h *command.History) error {
	const most = 3 * command.ShownMessages
	found, next, err := g.store.SearchMessages(ctx, store.MessageQuery{Words: h.Words, SessionKey: key, Roles: spoken, Limit: most})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	seen := make(map[string]bool, len(found))
	for _, f := range found {
		if seen[f.Message.ID] {
			continue
		}
		seen[f.Message.ID] = true
		if len(h.Messages) == command.ShownMessages {
			h.More = true
			break
		}
		h.Messages = append(h.Messages, f.Message)
	}
	if next != "" {
		h.More, h.Partly = h.More || len(found) == most, len(found) < most
	}
	return err
}
