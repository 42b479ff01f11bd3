package gateway

import (
	"strings"

	"github.com/chatkeep/chatkeep/models"
)

// clean takes out of a message what no database stores as text: NUL bytes and what is
// not UTF-8. Models, and fetched files, do send it.
func clean(m *models.SessionMessage) {
	fields := []*string{&m.Content, &m.ToolCallID, &m.SenderName}
	for i := range m.ToolCalls {
		call := &m.ToolCalls[i]
		fields = append(fields, &call.ID, &call.Name, &call.Arguments)
	}
	for i := range m.Images {
		fields = append(fields, &m.Images[i])
	}
	if m.Reasoning != nil {
		fields = append(fields, m.Reasoning)
	}
	if m.Quote != nil {
		fields = append(fields, &m.Quote.Sender, &m.Quote.Text)
	}
	for _, field := range fields {
		*field = strings.ToValidUTF8(strings.ReplaceAll(*field, "\x00", ""), "\uFFFD")
	}
}
