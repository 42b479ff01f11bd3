package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/chatkeep/chatkeep/agents"
)

const (
	// maxSent is how many messages one turn may send.
	maxSent = 5
	// maxSentText is the longest of them, in characters.
	maxSentText = 10_000
)

// Chats sends messages into chats, and keeps their scheduled tasks.
type Chats interface {
	// SendFromTurn stores a message for sending, once for each key. An empty chat is the
	// one that the turn answers in, another one is channel/account/chatId. The error is
	// written for the model.
	SendFromTurn(ctx context.Context, inboundID, chat, text, key string) error
	// TaskFromTurn does something about the tasks of the chat that the turn answers in, for
	// the person whom it answers, once for each key. Answer and error are written for the
	// model.
	TaskFromTurn(ctx context.Context, inboundID string, call TaskCall, key string) (string, error)
}

// sendTool sends messages into the turn's own chat, and others that are allowed. It
// is made anew for every turn.
type sendTool struct {
	set   *Set
	chats []string
	sent  *atomic.Int32
}

// Spec describes the tool.
func (t sendTool) Spec() agents.ToolSpec {
	chat := ""
	if len(t.chats) > 0 {
		names, _ := json.Marshal(t.chats) //nolint:errchkjson // strings
		chat = `,"chat":{"type":"string","enum":` + string(names) + `,"description":"another chat; leave it out for this one"}`
	}
	return agents.ToolSpec{
		Name: SendToChat,
		Description: fmt.Sprintf("Sends a message into this chat, besides the answer: for a notice that must not wait for it. "+
			"At most %d in a turn. The answer itself is sent anyway.", maxSent),
		Parameters: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"text":{"type":"string","minLength":1,"maxLength":%d,`+
			`"description":"the message, as Markdown"}%s},"required":["text"],"additionalProperties":false}`, maxSentText, chat)),
	}
}

// Call sends the message. Made again with the same key it is sent once.
func (t sendTool) Call(ctx context.Context, args json.RawMessage, idempotencyKey string) (agents.ToolResult, error) {
	var a struct{ Text, Chat string }
	if err := json.Unmarshal(args, &a); err != nil {
		return agents.ToolResult{}, fmt.Errorf("send_to_chat: %w", err)
	}
	inboundID, ok := agents.InboundIDFromContext(ctx)
	switch {
	case !ok:
		return agents.ToolResult{}, errors.New("there is no chat here to send to")
	case strings.TrimSpace(a.Text) == "":
		return agents.ToolResult{}, errors.New("the text is empty")
	case len([]rune(a.Text)) > maxSentText:
		return agents.ToolResult{}, fmt.Errorf("the text is longer than %d characters", maxSentText)
	case a.Chat != "" && !slices.Contains(t.chats, a.Chat):
		return agents.ToolResult{}, errors.New("sending to that chat is not allowed")
	case t.sent.Add(1) > maxSent:
		return agents.ToolResult{}, fmt.Errorf("%d messages were sent already: put the rest into the answer", maxSent)
	}
	if err := t.set.chats.SendFromTurn(ctx, inboundID, a.Chat, a.Text, idempotencyKey); err != nil {
		return agents.ToolResult{}, err
	}
	return agents.ToolResult{Text: "It is on its way."}, nil
}
