package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/internal/text"
	search "github.com/chatkeep/chatkeep/internal/words"
	"github.com/chatkeep/chatkeep/models"
)

// Bounds of what /history shows.
const (
	// ShownMessages is how many messages it lists.
	ShownMessages = 10
	// shownWords is how much of each, in characters.
	shownWords = 100
)

// History is what was said in a session, as it was just before, for a command that
// reads it.
type History struct {
	// Words are those that were looked for; none: the messages are the newest ones of
	// the current slot, oldest first. Found messages come newest first.
	Words    []string
	Messages []*models.SessionMessage
	// More is set if there are others that match, Partly if not all were looked at.
	More, Partly bool
	// TooMany is set if the words were too many to look for.
	TooMany bool
	// Zone is that of the times shown.
	Zone *time.Location
}

// history is /history [words].
func history(c *Call) (string, error) {
	h := c.History
	switch {
	case h.TooMany:
		return text.Say(c.Lang, text.HistoryTooMany, search.MaxWords, search.MaxQuery), nil
	case len(h.Messages) == 0 && len(h.Words) == 0:
		return text.Say(c.Lang, text.HistoryEmpty), nil
	case len(h.Messages) == 0:
		return h.mark(c, text.Say(c.Lang, text.HistoryNothing)), nil
	}
	title := text.Say(c.Lang, text.HistoryNewest)
	if len(h.Words) > 0 {
		title = text.Say(c.Lang, text.HistoryFound)
	}
	lines := []string{title}
	for _, m := range h.Messages {
		lines = append(lines, h.line(c, m))
	}
	return h.mark(c, strings.Join(lines, "\n")), nil
}

// mark says what is missing.
func (h *History) mark(c *Call, answer string) string {
	switch {
	case h.More:
		return answer + "\n" + text.Say(c.Lang, text.HistoryMore)
	case h.Partly:
		return answer + "\n" + text.Say(c.Lang, text.HistoryPartly)
	}
	return answer
}

// line is a message on one line: when, who, and around the words what.
func (h *History) line(c *Call, m *models.SessionMessage) string {
	who := m.SenderName
	switch {
	case m.Role == models.RoleAssistant:
		who = text.Say(c.Lang, text.SpeakerBot)
	case who == "":
		who = text.Say(c.Lang, text.SpeakerUser)
	}
	slot := ""
	if m.Slot != c.Tx.CurrentSlot() {
		slot = " `" + m.Slot + "`"
	}
	who = strings.Join(strings.Fields(who), " ")
	return fmt.Sprintf("- %s%s %s: %s", m.CreatedAt.In(h.Zone).Format("2006-01-02 15:04"), slot, who, search.Snippet(m.Content, h.Words, shownWords))
}
