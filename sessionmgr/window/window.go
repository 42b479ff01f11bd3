package window

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
)

// ErrTooLarge is returned when the system prompt and the new user messages alone do
// not fit the window, or when several new messages are more than MaxMessages.
var ErrTooLarge = errors.New("message does not fit the context window")

// Input is the state that a context is a function of. Nothing in it is changed.
type Input struct {
	// SystemPrompt is rendered (see [Template]); blank means none.
	SystemPrompt string
	// Summary holds what else belongs to the system part, most needed last: notes,
	// the latest summary. It is sent with role system.
	Summary []*models.SessionMessage
	// History is the slot's stored messages, oldest first: the newest are enough,
	// and for a Focus that keeps the system message the first stored one as well.
	History []*models.SessionMessage
	// Observed is what stands between the history and Earlier, oldest first: group
	// talk, which has its Observed set.
	Observed []*models.SessionMessage
	// Earlier are the messages that are answered together with User, oldest first. They
	// are sent whole, as it is.
	Earlier []*models.SessionMessage
	// User is the new message; nil shows what would be sent before it.
	User *models.SessionMessage
	// Named puts the speaker's name before user texts: the session has several.
	Named bool
	// Forms holds the frozen pruned form of tool results, by Seq.
	Forms map[int64]Form
	// Focus filters the history of a focused slot; nil is no filter.
	Focus *models.Focus
	// Budget bounds the parts of the context; nil is no bound.
	Budget *models.Budget
	Limits Limits
}

// Limits bound a context.
type Limits struct {
	// MaxMessages bounds the messages besides the system part; zero is no bound.
	MaxMessages int
	// MaxTokens bounds everything: the model's window less the reserve for the
	// answer and the tools. Zero is no bound.
	MaxTokens int
	// Window is the model's whole window, from which an automatic Budget follows.
	Window int
	// Count counts the tokens of texts that no provider has counted; nil is
	// tokens.Estimate.
	Count tokens.Count
}

// Pruned says how a message was shortened for the context.
type Pruned string

// The forms of pruning.
const (
	PrunedNot  Pruned = ""
	PrunedSoft Pruned = "soft" // head, note, tail
	PrunedHard Pruned = "hard" // a placeholder
)

// Form is a tool result as it is sent instead of the stored one.
type Form struct {
	Pruned  Pruned
	Content string
}

// Message is one message of a context.
type Message struct {
	// Message is a copy, with the content that the model sees.
	Message *models.SessionMessage
	Tokens  int
	Pruned  Pruned
}

// Omitted counts what was cut off to fit.
type Omitted struct {
	Messages int
	Tokens   int
}

// Output is a context.
type Output struct {
	Messages []Message
	Tokens   int
	Omitted  Omitted
}

// Models returns the messages for an agent's request.
func (o *Output) Models() []*models.SessionMessage {
	out := make([]*models.SessionMessage, len(o.Messages))
	for i, m := range o.Messages {
		out[i] = m.Message
	}
	return out
}

// Build returns the context for a model, or an [ErrTooLarge].
func Build(in Input) (*Output, error) {
	b := builder{in: in, count: in.Limits.Count, maxTokens: in.Limits.MaxTokens}
	if b.count == nil {
		b.count = tokens.Estimate
	}
	b.resolveBudget()
	history := in.History
	if in.Focus != nil {
		history = Focus(history, *in.Focus)
	}
	head, body := b.system(), repair(append(b.load(history), b.load(in.Observed)...))
	leading := leadingSystem(body)
	body = body[len(leading):]
	b.boundToolResults(body)
	user := b.user()
	if most := in.Limits.MaxMessages; len(user) > 1 && !within(most, len(user)) {
		return nil, fmt.Errorf("%w: %d new messages, %d are allowed", ErrTooLarge, len(user), most)
	}
	if need := total(head.prompt) + total(user); b.maxTokens > 0 && need > b.maxTokens {
		return nil, fmt.Errorf("%w: %d tokens, %d are free", ErrTooLarge, need, b.maxTokens)
	}
	head.optional = append(leading, head.optional...)
	return b.fit(head, groups(body), user), nil
}

type builder struct {
	in        Input
	count     tokens.Count
	budget    models.Budget
	maxTokens int // zero: no bound
}

// system returns the system part that comes from outside the history.
func (b *builder) system() (s systemPart) {
	if strings.TrimSpace(b.in.SystemPrompt) != "" {
		m := b.measure(&models.SessionMessage{Role: models.RoleSystem, Content: b.in.SystemPrompt}, PrunedNot)
		b.boundText(&m, b.budget.System)
		s.prompt = []Message{m}
	}
	for _, m := range b.in.Summary {
		if m == nil || strings.TrimSpace(m.Content) == "" {
			continue
		}
		c := m.Clone()
		c.Role, c.ToolCalls, c.ToolCallID = models.RoleSystem, nil, ""
		s.optional = append(s.optional, b.load([]*models.SessionMessage{c})...)
	}
	return s
}

// systemPart is what stands first. The optional messages are given up, first to
// last, where they do not fit.
type systemPart struct{ prompt, optional []Message }

// user returns the new messages; there may be none.
func (b *builder) user() []Message {
	var out []Message
	for _, original := range append(slices.Clip(b.in.Earlier), b.in.User) {
		if original == nil {
			continue
		}
		m := original.Clone()
		m.Role, m.ToolCalls, m.ToolCallID = models.RoleUser, nil, ""
		m.Content = RenderUser(b.speaker(m), m.Quote, m.Content)
		out = append(out, b.measureAs(original, m, PrunedNot))
	}
	return out
}

// load copies stored messages into what the model sees of them.
func (b *builder) load(stored []*models.SessionMessage) []Message {
	out := make([]Message, 0, len(stored))
	for _, original := range stored {
		if original == nil || original.Role == models.RoleUser && empty(original) {
			continue
		}
		m, pruned := original.Clone(), PrunedNot
		switch {
		case m.Role == models.RoleUser && m.Observed:
			m.Content = RenderObserved(speakerOf(m), m.Content)
		case m.Role == models.RoleUser:
			m.Content = RenderUser(b.speaker(m), m.Quote, m.Content)
		case m.Role == models.RoleTool:
			if form, frozen := b.in.Forms[m.Seq]; frozen && m.Seq > 0 {
				m.Content, pruned = form.Content, form.Pruned
			}
		}
		out = append(out, b.measureAs(original, m, pruned))
	}
	return out
}

// speaker returns the name to put before a user's text; empty means none.
func (b *builder) speaker(m *models.SessionMessage) string {
	if !b.in.Named {
		return ""
	}
	return speakerOf(m)
}

func speakerOf(m *models.SessionMessage) string {
	if name := CleanName(m.SenderName); name != "" {
		return name
	}
	return CleanName(m.SenderID)
}

// measureAs measures a message, by the stored count if it is sent as stored.
func (b *builder) measureAs(stored, sent *models.SessionMessage, pruned Pruned) Message {
	if stored.TokenCount > 0 && stored.Content == sent.Content {
		return Message{sent, stored.TokenCount, pruned}
	}
	return b.measure(sent, pruned)
}

func (b *builder) measure(m *models.SessionMessage, pruned Pruned) Message {
	return Message{m, tokens.Message(m, b.count), pruned}
}

func total(messages []Message) int {
	sum := 0
	for _, m := range messages {
		sum += m.Tokens
	}
	return sum
}
