package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/internal/words"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// sessionSearch is session history --search: the messages of one session that have
// all of some words.
type sessionSearch struct {
	key, slot, query, cursor string
	limit                    int
	asJSON                   bool
}

// shownFound is how much of a found message is printed, in characters.
const shownFound = 200

func (s *sessionSearch) run(ctx context.Context, cmd *cobra.Command, st store.Store) error {
	looked, err := words.Parse(s.query)
	if err != nil {
		return fmt.Errorf("%w: --search needs one to %d words, at most %d characters", errUsage, words.MaxWords, words.MaxQuery)
	}
	found, next, err := st.SearchMessages(ctx, store.MessageQuery{
		Words: looked, SessionKey: s.key, Slot: s.slot, Limit: s.limit, Cursor: s.cursor,
	})
	switch {
	case errors.Is(err, store.ErrInvalid):
		return fmt.Errorf("%w: --cursor must be one that an earlier search printed", errUsage)
	case errors.Is(err, store.ErrNotFound) && s.slot != "":
		return noSlot(s.key, s.slot)
	case err != nil:
		return sessionError(err, s.key)
	}
	messages := make([]*models.SessionMessage, len(found))
	for i, f := range found {
		messages[i] = f.Message
	}
	if s.asJSON {
		return printJSON(cmd.OutOrStdout(), pageOf(whole(messages), next))
	}
	for _, m := range messages {
		who := string(m.Role)
		if m.SenderName != "" {
			who += " " + oneLineText(m.SenderName)
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "[%s %d] %s %s: %s\n", m.Slot, m.Seq, stamp(m.CreatedAt), printable(who),
			printable(words.Snippet(m.Content, looked, shownFound))); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	if next != "" {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "more: --cursor %s\n", next)
	}
	return nil
}
