package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/internal/words"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// Search finds messages by the words in them.
type Search interface {
	SearchMessages(ctx context.Context, q store.MessageQuery) (items []store.FoundMessage, nextCursor string, err error)
}

// snippetSize is how much of a message a search shows, in characters.
const snippetSize = 200

// foundMessage is a message as a search shows it: where it is, and the part of it
// around the words.
type foundMessage struct {
	SessionKey string      `json:"sessionKey"`
	Slot       string      `json:"slot"`
	Seq        int64       `json:"seq"`
	ID         string      `json:"id"`
	Role       models.Role `json:"role"`
	SenderID   string      `json:"senderId"`
	SenderName string      `json:"senderName"`
	Snippet    string      `json:"snippet"`
	CreatedAt  time.Time   `json:"createdAt"`
}

func (s *Server) search(c *gin.Context) {
	q, err := messageQuery(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	found, next, err := s.deps.Search.SearchMessages(c.Request.Context(), q)
	switch {
	case errors.Is(err, store.ErrNotFound) && q.Slot != "":
		err = noSlot()
	case err != nil:
		err = sessionProblem(err)
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	items := make([]foundMessage, len(found))
	for i, f := range found {
		m := f.Message
		items[i] = foundMessage{
			SessionKey: f.SessionKey, Slot: m.Slot, Seq: m.Seq, ID: m.ID, Role: m.Role, SenderID: m.SenderID, SenderName: m.SenderName,
			Snippet: words.Snippet(m.Content, q.Words, snippetSize), CreatedAt: m.CreatedAt,
		}
	}
	c.JSON(http.StatusOK, pageOf(items, next))
}

func messageQuery(c *gin.Context) (q store.MessageQuery, err error) {
	if q.Limit, err = limit(c); err != nil {
		return q, err
	}
	v, err := queries(c, "q", "agentId", "slot", "cursor")
	if err != nil {
		return q, err
	}
	q.AgentID, q.Slot, q.Cursor = v["agentId"], v["slot"], v["cursor"]
	if q.Words, err = words.Parse(v["q"]); err != nil {
		return q, invalid(fmt.Sprintf("q needs one to %d words, at most %d characters", words.MaxWords, words.MaxQuery))
	}
	if q.Slot != "" && !models.ValidName(q.Slot) {
		return q, noSlot()
	}
	raw, err := url.PathUnescape(rawQuery(c, "sessionKey"))
	if err != nil {
		return q, invalid("sessionKey is not URL-escaped")
	}
	if raw == "" {
		return q, nil
	}
	k, err := key.Parse(raw)
	if err != nil {
		return q, err
	}
	q.SessionKey = k.String()
	return q, nil
}
