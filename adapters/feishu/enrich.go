package feishu

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chatkeep/chatkeep/adapters"
)

// How much of a quote or of forwarded messages is given to the agent.
const (
	maxForwarded      = 100
	maxForwardedDepth = 4
	maxQuote          = 32 << 10
)

// Enrich fetches names, the message that is quoted, and what was forwarded. What
// it cannot learn it leaves as it is; the error names all of that.
func (a *Adapter) Enrich(ctx context.Context, m *adapters.Message) error {
	var problems []error
	if m.RawType == typeForward && m.Quote == nil {
		m.Quote = &adapters.Quote{MessageID: m.ID}
	}
	if q := m.Quote; q != nil && q.Text == "" && q.MessageID != "" {
		problems = append(problems, a.fetchQuote(ctx, m))
	}
	if m.Chat.Type == adapters.Group && m.Chat.Name == "" {
		info, err := a.chats.get(ctx, m.Chat.ID)
		if err == nil {
			m.Chat.Name = info.name
		}
		problems = append(problems, err)
	}
	if m.Sender.Name == "" && strings.HasPrefix(m.Sender.ID, "ou_") && !m.Sender.IsBot {
		name, err := a.names.get(ctx, m.Sender.ID)
		if err == nil {
			m.Sender.Name = name
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// personName asks for a person's name. Without the permission people have none,
// which is said once an hour per person and is no failure of every message.
func (a *Adapter) personName(ctx context.Context, openID string) (string, error) {
	name, err := a.api.userName(ctx, openID)
	switch classOf(err) {
	case classAccount, classUnknown, classRefused:
		if _, refused := errors.AsType[*apiError](err); refused {
			a.log.InfoContext(ctx, "a person's name cannot be had (permission contact:user.base:readonly)", "error", err)
			return "", nil
		}
	}
	return name, err
}

// fetchQuote fills the quote of m; pictures and files in it become m's own.
func (a *Adapter) fetchQuote(ctx context.Context, m *adapters.Message) error {
	if err := a.api.limits.wait(ctx, laneOther); err != nil {
		return err
	}
	items, err := a.api.message(ctx, m.Quote.MessageID)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return errors.New("the quoted message is not there")
	}
	quoted := items[0]
	if quoted.deleted {
		m.Quote.Text = "[recalled message]"
		return nil
	}
	m.Quote.FromBot = a.isSelf(quoted)
	if !m.Quote.FromBot && m.Quote.MessageID != m.ID {
		m.Quote.SenderID, m.Quote.SenderName = quoted.senderID, a.nameOf(ctx, quoted)
	}
	if quoted.msgType == typeForward {
		m.Quote.Text = a.forwardedText(ctx, items)
		return nil
	}
	b := decodeContent(quoted.msgType, quoted.content, newMentions(quoted.mentions, ""))
	m.Quote.Text = strings.ToValidUTF8(clipBytes(b.text, maxQuote), "")
	for _, attachment := range b.attachments {
		if m.Quote.Text == "" {
			m.Quote.Text = "[" + string(attachment.Kind) + "]"
		}
		// The platform wants the message that holds the file.
		attachment.Key = quoted.id + keySeparator + attachment.Key
		attachment.Quoted = m.Quote.MessageID != m.ID
		m.Attachments = append(m.Attachments, attachment)
	}
	return nil
}

func (a *Adapter) isSelf(f fetched) bool {
	return f.senderID != "" && (f.senderID == a.cfg.AppID || f.senderID == a.selfID())
}

// nameOf returns who wrote a fetched message, "" if that cannot be learned.
func (a *Adapter) nameOf(ctx context.Context, f fetched) string {
	if f.senderName != "" || f.senderIDType != "open_id" || f.senderID == "" {
		return f.senderName
	}
	name, err := a.names.get(ctx, f.senderID)
	if err != nil {
		return ""
	}
	return name
}

// forwardedText writes a forwarded collection as one text. items is flat; each
// names the collection that holds it, the first is the outermost.
func (a *Adapter) forwardedText(ctx context.Context, items []fetched) string {
	children := map[string][]fetched{}
	for _, item := range items[1:] {
		children[item.upperID] = append(children[item.upperID], item)
	}
	w := forwardWriter{nameOf: func(f fetched) string { return a.nameOf(ctx, f) }, children: children}
	w.write(items[0].id, 0)
	if w.left > 0 {
		fmt.Fprintf(&w.out, "[%d more messages]\n", w.left)
	}
	if w.out.Len() == 0 {
		return forwardPlaceholder
	}
	return strings.TrimSpace(w.out.String())
}

type forwardWriter struct {
	nameOf   func(fetched) string
	children map[string][]fetched
	out      strings.Builder
	written  int
	left     int
}

func (w *forwardWriter) write(id string, depth int) {
	for _, item := range w.children[id] {
		if w.written >= maxForwarded || w.out.Len() >= maxQuote {
			w.left++
			continue
		}
		w.written++
		b := decodeContent(item.msgType, item.content, newMentions(item.mentions, ""))
		for _, attachment := range b.attachments {
			b.text = strings.TrimSpace(b.text + " [" + strings.TrimSpace(string(attachment.Kind)+" "+attachment.Name) + "]")
		}
		indent := strings.Repeat("  ", depth)
		name := w.nameOf(item)
		if name == "" {
			name = "someone"
		}
		text := strings.ReplaceAll(strings.ToValidUTF8(clipBytes(b.text, maxQuote-min(w.out.Len(), maxQuote)), ""), "\n", "\n"+indent+"  ")
		fmt.Fprintf(&w.out, "%s- %s: %s\n", indent, name, text)
		if item.msgType == typeForward && depth < maxForwardedDepth && item.id != id {
			w.write(item.id, depth+1)
		}
	}
}
