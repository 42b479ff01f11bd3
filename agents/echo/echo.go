package echo

import (
	"cmp"
	"context"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/internal/provider"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
)

// Config sets the agent's pace. The zero value answers at once, in one piece.
type Config struct {
	// Delay passes before the first piece.
	Delay time.Duration
	// ChunkDelay passes before each further piece.
	ChunkDelay time.Duration
	// ChunkRunes is the length of a piece in runes; zero sends the text whole.
	ChunkRunes int
	// Timeout bounds the turn; zero does not.
	Timeout time.Duration
}

// nothing is the answer to a message without text.
const nothing = "…"

// Agent answers with the last user message's text. It is safe for concurrent use.
type Agent struct {
	cfg   Config
	clock clock.Clock
}

var (
	_ agents.Agent  = (*Agent)(nil)
	_ agents.Prober = (*Agent)(nil)
)

// New returns an echo of the given pace.
func New(cfg Config, c clock.Clock) *Agent { return &Agent{cfg: cfg, clock: c} }

// Probe always succeeds.
func (a *Agent) Probe(context.Context) error { return nil }

// Respond answers with what the user wrote; "…" if that is empty. It reports no usage, as there is no provider to count.
func (a *Agent) Respond(ctx context.Context, req *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
	if a.cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.cfg.Timeout)
		defer cancel()
	}
	text := cmp.Or(req.Text, lastUserText(req.Messages))
	screen := provider.NewScreen(emit, req.Stream)
	wait := a.cfg.Delay
	for _, piece := range split(text, a.cfg.ChunkRunes) {
		if clock.Sleep(ctx, a.clock, wait) != nil {
			return nil, provider.ContextError(ctx)
		}
		screen.Show(piece)
		wait = a.cfg.ChunkDelay
	}
	return &agents.Response{
		Messages:     []*models.SessionMessage{{Role: models.RoleAssistant, Content: text}},
		FinishReason: "stop",
	}, nil
}

func lastUserText(messages []*models.SessionMessage) string {
	for _, m := range slices.Backward(messages) {
		if m.Role == models.RoleUser {
			return cmp.Or(m.Content, nothing)
		}
	}
	return nothing
}

// split cuts text into pieces of n runes.
func split(text string, n int) []string {
	if n <= 0 {
		return []string{text}
	}
	var pieces []string
	for len(text) > 0 {
		end, count := 0, 0
		for end < len(text) && count < n {
			_, size := utf8.DecodeRuneInString(text[end:])
			end += size
			count++
		}
		pieces = append(pieces, text[:end])
		text = text[end:]
	}
	return pieces
}
