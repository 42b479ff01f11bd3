package gateway

import (
	"errors"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/wordlist"
	"github.com/chatkeep/chatkeep/models"
)

// ErrWordRefused means that a text holds a word that is refused.
var ErrWordRefused = errors.New("gateway: the text holds a word that is not allowed here")

// wordRefused is what the inbox says of such a text.
const wordRefused = "the message holds a word that is not allowed here"

// Words are the lists of words that texts pass. A nil filter lets everything pass.
type Words struct {
	// In is what people write: before it is stored, and before the agent reads it.
	In *wordlist.Filter
	// Out is what agents answer: before anybody sees it, and before it is stored.
	Out *wordlist.Filter
}

// incoming returns a message as it may be kept, or reports that it is refused.
func (w Words) incoming(m *adapters.Message) (*adapters.Message, bool) {
	if w.In == nil {
		return m, false
	}
	clean, refused := *m, false
	mask := func(text *string) {
		masked, no := w.In.Apply(*text)
		refused = refused || no
		if masked != *text {
			*text, clean.Raw = masked, nil // the platform's own form shows it
		}
	}
	mask(&clean.Text)
	if m.Quote != nil {
		quote := *m.Quote
		mask(&quote.Text)
		clean.Quote = &quote
	}
	if len(m.Attachments) > 0 {
		clean.Attachments = append([]adapters.Attachment(nil), m.Attachments...)
		for i := range clean.Attachments {
			mask(&clean.Attachments[i].Text)
		}
	}
	return &clean, refused
}

// reading is a message as the agent may read it: with what was fetched for it since it
// was accepted. A quote that is refused is left out.
func (w Words) reading(m *models.SessionMessage) (refused bool) {
	if m.Quote != nil {
		masked, no := w.In.Apply(m.Quote.Text)
		if m.Quote.Text = masked; no {
			m.Quote = nil
		}
	}
	m.Content, refused = w.In.Apply(m.Content)
	return refused
}

// asked are a caller's own messages as an agent may read them.
func (w Words) asked(messages []*models.SessionMessage) ([]*models.SessionMessage, error) {
	if w.In == nil {
		return messages, nil
	}
	out := models.CloneMessages(messages)
	for _, m := range out {
		if m.Role == models.RoleUser && w.reading(m) {
			return nil, ErrWordRefused
		}
	}
	return out, nil
}

// answering masks what an agent wrote in its messages, or reports that it is refused.
func (w Words) answering(messages []*models.SessionMessage) (refused bool) {
	for _, m := range messages {
		if m.Role == models.RoleAssistant {
			masked, no := w.Out.Apply(m.Content)
			m.Content, refused = masked, refused || no
		}
	}
	return refused
}

// shown passes on what an agent shows while it works, with the words masked. What may
// become one of them is held back until that is known.
type shown struct {
	filter *wordlist.Filter
	stream *wordlist.Stream
	emit   func(agents.Event)
}

func (w Words) show(emit func(agents.Event)) *shown {
	return &shown{filter: w.Out, stream: w.Out.Stream(), emit: emit}
}

func (s *shown) event(e agents.Event) {
	if e.Restart {
		s.stream = s.filter.Stream()
	}
	if e.Delta != "" {
		e.Delta = s.stream.Write(e.Delta)
	}
	if e.Delta != "" || e.Restart || e.Tool != nil {
		s.emit(e)
	}
}

// end passes on what is still held back.
func (s *shown) end() {
	if rest := s.stream.Close(); rest != "" {
		s.emit(agents.Event{Delta: rest})
	}
}
