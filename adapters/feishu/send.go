package feishu

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/models"
)

// form is one way to send a text. Each has a uuid of its own: the platform wants
// another one when the content changes.
type form struct {
	variant string
	msgType string
	content func(text string, buttons ...models.Button) string
	limit   int
}

// ladder lists the forms from the best to the plainest.
var ladder = []form{
	{"", typeCard, finalCard, maxContent},
	{"-p", typePost, postOf, maxContent},
	{"-t", "text", textOf, maxText},
}

// Send sends one piece and the files that go with it.
func (a *Adapter) Send(ctx context.Context, d *models.Delivery) (adapters.Sent, error) {
	var first sentMessage
	if strings.TrimSpace(d.Text) != "" {
		sent, err := a.sendText(ctx, d)
		if err != nil {
			return adapters.Sent{}, sendError(err)
		}
		first = sent
	}
	sent, err := a.sendFiles(ctx, d)
	if err != nil {
		return adapters.Sent{}, sendError(err)
	}
	if first.id == "" {
		first = sent
	}
	if first.id == "" {
		return adapters.Sent{}, &adapters.SendError{Kind: adapters.Refused, Err: errors.New("there is nothing to send")}
	}
	return adapters.Sent{PlatformMessageID: first.id}, nil
}

// sendText goes down the ladder while the platform dislikes the form.
func (a *Adapter) sendText(ctx context.Context, d *models.Delivery) (sentMessage, error) {
	err := error(&adapters.SendError{Kind: adapters.Refused, Err: errors.New("the piece is too long for every form of message")})
	for _, f := range ladder {
		c := content{f.msgType, f.content(d.Text, d.Buttons...)}
		if wireSize(c.json) > f.limit {
			continue
		}
		var sent sentMessage
		if sent, err = a.deliver(ctx, d.Target, c, uuidOf(d.ID, f.variant)); err == nil {
			return sent, nil
		}
		if !anotherForm(err) {
			break
		}
		a.log.WarnContext(ctx, "a form of message is refused", "form", f.msgType, "delivery", d.ID, "error", err)
	}
	return sentMessage{}, err
}

// anotherForm reports whether a refusal may be about the form of the message.
func anotherForm(err error) bool {
	var api *apiError
	return errors.As(err, &api) && (api.class == classContent || api.class == classUnknown)
}

// deliver sends one content to where target says: as a reply wherever possible.
func (a *Adapter) deliver(ctx context.Context, target models.Target, c content, uuid string) (sentMessage, error) {
	if err := a.api.limits.waitToSend(ctx, destination(target)); err != nil {
		return sentMessage{}, err
	}
	var gone error
	if target.ReplyTo != "" {
		sent, err := a.api.reply(ctx, target.ReplyTo, a.inThread(target), c, uuid)
		if classOf(err) != classReplyGone {
			return sent, err
		}
		gone = err
	}
	// A message of its own would open another topic.
	if target.ThreadID != "" {
		anchor, err := a.threadAnchor(ctx, target)
		if err != nil {
			return sentMessage{}, err
		}
		if anchor == target.ReplyTo {
			return sentMessage{}, gone
		}
		return a.api.reply(ctx, anchor, true, c, uuidOf(uuid, "-a"))
	}
	if gone != nil {
		uuid = uuidOf(uuid, "-c")
	}
	idType, id := receiver(target)
	return a.api.create(ctx, idType, id, c, uuid)
}

// threadAnchor returns a message of the target's thread to reply to.
func (a *Adapter) threadAnchor(ctx context.Context, target models.Target) (string, error) {
	if strings.HasPrefix(target.ThreadID, "om_") { // a thread known by its first message
		return target.ThreadID, nil
	}
	return a.api.threadMessage(ctx, target.ThreadID)
}

// inThread reports whether a reply shall be in a thread.
func (a *Adapter) inThread(target models.Target) bool {
	switch a.cfg.chat(target.ChatID).ReplyInThread {
	case ThreadAlways:
		return !target.Direct
	case ThreadNever:
		return false
	default:
		return target.ThreadID != ""
	}
}

// receiver returns the kind of id and the id that a message of its own goes to.
func receiver(target models.Target) (idType, id string) {
	switch {
	case target.ChatID != "":
		return "chat_id", target.ChatID
	case strings.HasPrefix(target.UserID, "ou_"):
		return "open_id", target.UserID
	case strings.HasPrefix(target.UserID, "on_"):
		return "union_id", target.UserID
	default:
		return "user_id", target.UserID
	}
}

// destination names what the platform's limit per chat counts by.
func destination(target models.Target) string {
	_, id := receiver(target)
	return id
}

// maxUUID is the longest uuid that the platform takes, in characters.
const maxUUID = 50

// uuidOf returns the idempotency key of one variant of a delivery: the same on every attempt.
func uuidOf(id, variant string) string {
	if key := id + variant; len(key) <= maxUUID {
		return key
	}
	sum := sha256.Sum256([]byte(id + variant))
	return hex.EncodeToString(sum[:])[:maxUUID-2]
}
