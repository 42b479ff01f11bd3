package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway"
	limits "github.com/chatkeep/chatkeep/gateway/limit"
	"github.com/chatkeep/chatkeep/gateway/watch"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// Chats accepts messages and lets callers wait for their outcome.
type Chats interface {
	Accept(ctx context.Context, in *gateway.Incoming) (*store.Accepted, error)
	Watch(inboundID string) *watch.Watcher
	Inbound(ctx context.Context, id string) (*models.Inbound, error)
}

// chatRequest is the body of POST /v1/chat.
type chatRequest struct {
	ChatID    string       `json:"chatId"`
	UserID    string       `json:"userId"`
	ThreadID  string       `json:"threadId"`
	ChatType  string       `json:"chatType"`
	Mentioned *bool        `json:"mentioned"`
	Scope     models.Scope `json:"scope"`
	ScopeID   string       `json:"scopeId"`
	MessageID string       `json:"messageId"`
	Text      string       `json:"text"`
	Images    []string     `json:"images"`
	Slot      string       `json:"slot"`
	Stream    bool         `json:"stream"`
	Wait      *bool        `json:"wait"`
}

// headerIdempotencyKey does what messageId does.
const headerIdempotencyKey = "Idempotency-Key"

const (
	// maxImages bounds the pictures of one message.
	maxImages = 16
	// acceptTimeout bounds the storing of a message.
	acceptTimeout = 15 * time.Second
)

// chat handles POST /v1/chat.
func (s *Server) chat(c *gin.Context) {
	var body chatRequest
	if err := decodeBody(c, &body, true); err != nil {
		s.fail(c, err)
		return
	}
	if err := s.checkImages(body.Images); err != nil {
		s.fail(c, err)
		return
	}
	in, err := body.incoming(accountOf(c), c.GetHeader(headerIdempotencyKey))
	if err != nil {
		s.fail(c, err)
		return
	}
	waits := body.Wait == nil || *body.Wait
	in.Awaited = waits || body.Stream
	t, err := s.take(c.Request.Context(), in)
	if err != nil {
		s.fail(c, err)
		return
	}
	defer t.watcher.Close()
	switch {
	case t.inbound.State == models.InboundObserved:
		c.JSON(http.StatusOK, observedResponse{t.accepted(), t.inbound.State})
	case body.Stream:
		s.stream(c, t)
	case !waits:
		c.JSON(http.StatusAccepted, t.accepted())
	default:
		s.answer(c, t)
	}
}

// incoming checks the request and turns it into a message.
func (b *chatRequest) incoming(account, idempotencyKey string) (*gateway.Incoming, error) {
	if b.MessageID != "" && idempotencyKey != "" && b.MessageID != idempotencyKey {
		return nil, invalid("messageId and " + headerIdempotencyKey + " differ; give one of them")
	}
	if b.MessageID == "" {
		b.MessageID = idempotencyKey
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	chatType := adapters.ChatType(b.ChatType)
	switch {
	case chatType == "" && b.ChatID != "":
		chatType = adapters.Group
	case chatType == "":
		chatType = adapters.Direct
	}
	if chatType == adapters.Group && b.ChatID == "" {
		return nil, invalid("a group needs its chatId")
	}
	m := &adapters.Message{
		ID:     b.MessageID,
		Chat:   adapters.Chat{ID: b.ChatID, Type: chatType, ThreadID: b.ThreadID},
		Sender: adapters.Sender{ID: b.UserID}, Text: b.Text,
		Mentioned: chatType == adapters.Direct || b.Mentioned == nil || *b.Mentioned,
	}
	for _, url := range b.Images {
		m.Attachments = append(m.Attachments, adapters.Attachment{Kind: adapters.Image, Key: url})
	}
	return &gateway.Incoming{
		Channel: key.ChannelAPI, Account: account, Message: m, Scope: b.Scope, ScopeID: b.ScopeID,
		Slot: b.Slot, Pulled: true, RunAgain: true, RejectWhenFull: true,
	}, nil
}

// dataImage is the only other form of a picture: what models take, in the URL itself.
var dataImage = regexp.MustCompile(`^data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$`)

// checkImages refuses what is no picture that can be fetched.
func (s *Server) checkImages(images []string) error {
	for i, image := range images {
		if strings.HasPrefix(image, "data:") {
			if !dataImage.MatchString(image) {
				return invalid(fmt.Sprintf("images[%d] must be data:image/png, jpeg, gif or webp with base64, or an http(s) URL", i))
			}
			continue
		}
		if s.cfg.CheckURL == nil {
			continue
		}
		if err := s.cfg.CheckURL(image); err != nil {
			return invalid(fmt.Sprintf("images[%d] is refused: %s", i, lastPart(err.Error())))
		}
	}
	return nil
}

// check refuses what is missing, unknown, too long, or cannot be stored.
func (b *chatRequest) check() error {
	switch {
	case b.UserID == "":
		return invalid("userId is needed: it says whose message this is")
	case strings.TrimSpace(b.Text) == "" && len(b.Images) == 0:
		return invalid("text is needed")
	case b.Scope != "" && (!b.Scope.Valid() || b.Scope == models.ScopeTask):
		return invalid("scope must be one of main, per_peer, per_channel_peer, per_account_channel_peer, thread")
	case b.Slot != "" && !models.ValidName(b.Slot):
		return invalid("slot must have 1 to 64 letters, digits, dots, dashes or underscores")
	case len(b.Images) > maxImages:
		return invalid(fmt.Sprintf("at most %d images are taken", maxImages))
	}
	switch adapters.ChatType(b.ChatType) {
	case "", adapters.Direct, adapters.Group:
	default:
		return invalid(`chatType must be "direct" or "group"`)
	}
	for _, url := range b.Images {
		if url == "" {
			return invalid("images must be URLs")
		}
		if err := checkText("images", url); err != nil {
			return err
		}
	}
	return checkTexts(
		foreignID("chatId", b.ChatID), foreignID("userId", b.UserID), foreignID("threadId", b.ThreadID),
		foreignID("scopeId", b.ScopeID), foreignID("messageId", b.MessageID), text{name: "text", value: b.Text},
	)
}

// taken is an accepted message and its watcher.
type taken struct {
	inbound *models.Inbound
	watcher *watch.Watcher
}

func (t *taken) accepted() acceptedResponse {
	return acceptedResponse{t.inbound.ID, t.inbound.SessionKey}
}

// take accepts a message; a repeat of one that ended in an error runs it again.
// A client that goes away meanwhile does not undo it.
func (s *Server) take(ctx context.Context, in *gateway.Incoming) (*taken, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), acceptTimeout)
	defer cancel()
	in.ID = models.NewID("inb")
	watcher := s.deps.Chats.Watch(in.ID) // before the turn can start: no word is missed
	accepted, err := s.deps.Chats.Accept(ctx, in)
	switch {
	case err != nil:
	case accepted.Inbound == nil:
		err = conflict("that message was taken before, and its session has been deleted since")
	case accepted.Limited && accepted.Duplicate:
		err = &problem{code: models.CodeRateLimited, message: "the message was not run again: too many messages within a minute", retryAfter: limits.Window}
	case accepted.Differs:
		err = conflict("another text was sent under the same messageId")
	case accepted.Inbound.ID == in.ID:
		return &taken{accepted.Inbound, watcher}, nil
	default: // the first one of its id
		watcher.Close()
		return &taken{accepted.Inbound, s.deps.Chats.Watch(accepted.Inbound.ID)}, nil
	}
	watcher.Close()
	return nil, err
}

// inbound handles GET /v1/inbound/{id}.
func (s *Server) inbound(c *gin.Context) {
	in, err := s.ownInbound(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, bodyOf(in))
}

// ownInbound returns the message of the path if it is the caller's account's.
func (s *Server) ownInbound(c *gin.Context) (*models.Inbound, error) {
	id, err := idOf(c)
	if err != nil {
		return nil, err
	}
	in, err := s.deps.Chats.Inbound(c.Request.Context(), id)
	if err != nil {
		return nil, err
	}
	if in.Channel != key.ChannelAPI || in.Account != accountOf(c) {
		return nil, store.ErrNotFound
	}
	return in, nil
}
