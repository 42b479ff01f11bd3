package dingtalk

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/models"
)

// Errors of what will never be a message, however often it comes.
var (
	errNotAMessage = errors.New("not a robot message")
	errOwnMessage  = errors.New("the robot's own message")
)

// quotaUsedUp is the code of the notice that is sent instead of a message.
const quotaUsedUp = "20001"

// decoder turns robot messages into the gateway's.
type decoder struct {
	robotCode string
	seal      *sealer
}

// decode returns the message or the event in data. deliveryID is the transport's
// id of this delivery.
func (d *decoder) decode(data []byte, deliveryID string) (*adapters.Message, *adapters.Event, error) {
	var b body
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, nil, fmt.Errorf("%w: no JSON object", errNotAMessage)
	}
	if b.ErrorCode == quotaUsedUp || b.ErrCode == quotaUsedUp {
		return nil, quotaNotice(data, &b), nil
	}
	switch {
	case b.MsgID == "":
		return nil, nil, fmt.Errorf("%w: msgId is missing", errNotAMessage)
	case b.ConversationID == "":
		return nil, nil, fmt.Errorf("%w: conversationId is missing", errNotAMessage)
	case b.ConversationType != typeDirect && b.ConversationType != typeGroup:
		return nil, nil, fmt.Errorf("%w: conversationType %q", errNotAMessage, clip(string(b.ConversationType), 20))
	case max(len(b.MsgID), len(b.ConversationID), len(b.SenderID), len(b.SenderStaffID)) > models.MaxForeignID:
		return nil, nil, fmt.Errorf("%w: an id is longer than %d bytes", errNotAMessage, models.MaxForeignID)
	case b.SenderID == "" && b.SenderStaffID == "":
		return nil, nil, fmt.Errorf("%w: the sender is missing", errNotAMessage)
	case b.SenderID != "" && b.SenderID == b.ChatbotUserID:
		return nil, nil, errOwnMessage
	}
	c := contentOf(&b)
	m := &adapters.Message{
		EventID:     deliveryID,
		ID:          string(b.MsgID),
		Chat:        chatOf(&b),
		Sender:      senderOf(&b),
		Text:        mentionOthers(&b, c.words()),
		Quote:       c.quote,
		Attachments: c.attachments,
		Ref:         d.ref(&b),
		RawType:     string(b.MsgType),
		Raw:         withoutWebhook(data),
	}
	m.Mentioned = m.Chat.Type == adapters.Direct || mentioned(&b)
	if b.CreateAt > 0 {
		m.SentAt = time.UnixMilli(int64(b.CreateAt)).UTC()
	}
	if c.words() == "" && len(c.attachments) == 0 && (c.quote == nil || c.quote.Text == "") {
		m.Unsupported, m.Text = true, c.unsupported
	}
	return m, nil, nil
}

// mentioned reports whether a group message addresses the robot. The platform
// delivers no others, so one that does not tell does.
func mentioned(b *body) bool {
	return b.IsInAtList == nil || bool(*b.IsInAtList)
}

func quotaNotice(data []byte, b *body) *adapters.Event {
	id := string(b.MsgID)
	if id == "" {
		sum := sha256.Sum256(data)
		id = "quota-" + hex.EncodeToString(sum[:16])
	}
	text := string(b.ErrorMessage)
	if text == "" {
		text = string(b.ErrMsg)
	}
	e := &adapters.Event{ID: id, Kind: adapters.QuotaNotice, Chat: chatOf(b), Sender: senderOf(b), Value: text}
	if b.CreateAt > 0 {
		e.At = time.UnixMilli(int64(b.CreateAt)).UTC()
	}
	return e
}

func chatOf(b *body) adapters.Chat {
	c := adapters.Chat{ID: string(b.ConversationID), Type: adapters.Direct, Name: string(b.ConversationTitle)}
	if b.ConversationType == typeGroup {
		c.Type = adapters.Group
	}
	return c
}

// senderOf prefers the id that administrators know. People from outside have none.
func senderOf(b *body) adapters.Sender {
	s := adapters.Sender{ID: string(b.SenderStaffID), Name: string(b.SenderNick)}
	if s.ID == "" {
		s.ID = string(b.SenderID)
	}
	for _, id := range []str{b.SenderID, b.SenderUnionID} {
		if id != "" && string(id) != s.ID && !slices.Contains(s.AltIDs, string(id)) {
			s.AltIDs = append(s.AltIDs, string(id))
		}
	}
	return s
}

func (d *decoder) ref(b *body) []byte {
	r := ref{
		ConversationID:   string(b.ConversationID),
		ConversationType: string(b.ConversationType),
		SenderStaffID:    string(b.SenderStaffID),
		RobotCode:        string(b.RobotCode),
	}
	if r.RobotCode == "" {
		r.RobotCode = d.robotCode
	}
	if b.SessionWebhook != "" && b.WebhookExpires > 0 {
		r.Webhook = d.seal.seal(string(b.SessionWebhook), r.ConversationID)
		r.ExpiresAt = int64(b.WebhookExpires)
	}
	return r.encode()
}

// mentionOthers names the other people that a message mentions: the platform takes
// their names out of the text and tells only ids.
func mentionOthers(b *body, text string) string {
	for _, u := range b.AtUsers {
		mention := "@" + string(u.StaffID)
		if u.StaffID == "" || u.DingtalkID == b.ChatbotUserID || strings.Contains(text, mention) {
			continue
		}
		text = strings.TrimSpace(text + " " + mention)
	}
	return text
}

// withoutWebhook returns the message as it came, without its secret.
func withoutWebhook(data []byte) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return nil
	}
	for name := range fields {
		if strings.EqualFold(name, "sessionWebhook") { // as loosely as it is decoded
			delete(fields, name)
		}
	}
	out, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return out
}

// clip shortens s to n runes for a log line or an error.
func clip(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n]) + "…"
}
