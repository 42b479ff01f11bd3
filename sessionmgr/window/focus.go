package window

import "github.com/chatkeep/chatkeep/models"

// Focus returns what a focused slot shows of its messages: the first stored
// system message if KeepSystem, the newest RecentMessages of the others, then
// SummaryOverride as one system message. Other system messages are not shown. It
// shares the messages; nothing is changed.
func Focus(messages []*models.SessionMessage, f models.Focus) []*models.SessionMessage {
	var system *models.SessionMessage
	others := make([]*models.SessionMessage, 0, len(messages))
	for _, m := range messages {
		switch {
		case m == nil:
		case m.Role != models.RoleSystem:
			others = append(others, m)
		case system == nil && !m.IsCompacted:
			system = m
		}
	}
	var out []*models.SessionMessage
	if f.KeepSystem && system != nil {
		out = append(out, system)
	}
	out = append(out, others[max(0, len(others)-max(0, f.RecentMessages)):]...)
	if f.SummaryOverride != "" {
		out = append(out, &models.SessionMessage{Role: models.RoleSystem, Content: f.SummaryOverride})
	}
	return out
}
