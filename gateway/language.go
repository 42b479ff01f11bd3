package gateway

import (
	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/text"
)

// langOf is the language that a message is answered in by the gateway itself.
func langOf(chat ChatSettings, m *adapters.Message) text.Lang {
	return text.Choose(chat.Language, m.Text, m.Sender.Name, m.Chat.Name)
}
