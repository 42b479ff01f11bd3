package provider

import "github.com/chatkeep/chatkeep/agents"

// Screen passes an answer's text on while it grows, and remembers whether there
// is any to take back.
type Screen struct {
	emit   func(agents.Event)
	stream bool
	shown  bool
}

// NewScreen returns a screen on emit that shows text only if stream is set.
func NewScreen(emit func(agents.Event), stream bool) *Screen {
	return &Screen{emit: emit, stream: stream}
}

// Show appends text.
func (s *Screen) Show(text string) {
	if s.stream && text != "" {
		s.shown = true
		s.emit(agents.Event{Delta: text})
	}
}

// Void takes back what was shown, if anything was.
func (s *Screen) Void() {
	if s.shown {
		s.shown = false
		s.emit(agents.Event{Restart: true})
	}
}
