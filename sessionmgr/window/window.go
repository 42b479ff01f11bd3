package window

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
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
	// Pruning says how the history is pruned, Forms what was decided before, by Seq, and
	// Cold and Ahead what they do in [prune.Input].
	Pruning prune.Settings
	Forms   map[int64]prune.Form
	Cold    bool
	Ahead   bool
	// Start is where the context before this one started, from which on the History is
	// (see [Since]), if this one is to go on from there as Pruning keeps it; see [Start].
	Start Start
	// Focus filters the history of a focused slot; nil is no filter.
	Focus *models.Focus
	// Budget bounds the parts of the context; nil is no bound.
	Budget *models.Budget
	Limits Limits
}

// Limits bound a context. Zero is no bound.
type Limits struct {
	// MaxMessages bounds the messages besides the system part, unless they go on from a
	// [Start].
	MaxMessages int
	// MaxTokens bounds the messages' tokens, whatever the window.
	MaxTokens int
	// Window is the model's whole window, from which an automatic Budget follows.
	Window int
	// Answer is kept free in the window for the answer.
	Answer int
	// Tools is what the schemas of the tools take of the window.
	Tools int
	// Count counts the tokens of texts that no provider has counted; nil is
	// tokens.Estimate.
	Count tokens.Count
}

// Message is one message of a context.
type Message struct {
	// Message is a copy, with what the model sees. Its TokenCount is Tokens.
	Message *models.SessionMessage
	Tokens  int
	Pruned  prune.Pruned
}

// Omitted counts what was cut off to fit, and the tool calls that pruning leaves out.
type Omitted struct {
	Messages int
	Tokens   int
}

// Output is a context.
type Output struct {
	Messages []Message
	Tokens   int
	// Limit is the bound on Tokens that was in effect; zero: none.
	Limit   int
	Omitted Omitted
	// Cut counts the messages of the history that the limits cut off.
	Cut int
	// First is the first message behind the system part, nil if there is none, and Results
	// is for the [Start] of the next context.
	First   *models.SessionMessage
	Results int64
	// Decisions are what pruning decided for the first time. Once stored as Forms they
	// give the same context.
	Decisions []prune.Decision
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
	b := newBuilder(in)
	out, err := b.build()
	if err == nil && b.goesOn() && out.Cut > 0 {
		out, err = b.anew().build()
	}
	return out, err
}

func (b *builder) build() (*Output, error) {
	in, head := b.in, b.system()
	pruned := b.prune(head)
	body := b.repair(append(b.show(pruned.Shown), b.load(in.Observed)...))
	leading := b.leadingSystem(body)
	body = body[len(leading):]
	all := groups(body)
	if b.keeps() {
		b.boundGroups(all)
	} else {
		b.boundToolResults(body)
	}
	user := b.user()
	if most := in.Limits.MaxMessages; len(user) > 1 && !within(most, len(user)) {
		return nil, fmt.Errorf("%w: %d new messages, %d are allowed", ErrTooLarge, len(user), most)
	}
	if need := total(head.prompt) + total(user); b.maxTokens > 0 && need > b.maxTokens {
		return nil, fmt.Errorf("%w: %d tokens, %d are free", ErrTooLarge, need, b.maxTokens)
	}
	head.optional = append(leading, head.optional...)
	out := b.fit(head, all, user)
	out.Limit, out.Decisions = b.maxTokens, pruned.Fresh
	for _, m := range pruned.Left {
		out.Omitted.add([]Message{b.measureAs(m, m.Clone(), prune.Not)})
	}
	return out, nil
}

// Decide returns what pruning decides for the first time, as [Build] does.
func Decide(in Input) []prune.Decision {
	b := newBuilder(in)
	return b.prune(b.system()).Fresh
}

type builder struct {
	in        Input
	count     tokens.Count
	budget    models.Budget
	maxTokens int   // zero: no bound
	results   int64 // of a [Start]
	halve     bool
}

func newBuilder(in Input) *builder {
	b := &builder{in: in, count: in.Limits.Count}
	if b.count == nil {
		b.count = tokens.Estimate
	}
	b.resolveBudget()
	b.results = in.Start.Results
	return b
}

// system returns the system part that comes from outside the history.
func (b *builder) system() (s systemPart) {
	if strings.TrimSpace(b.in.SystemPrompt) != "" {
		m := b.measure(&models.SessionMessage{Role: models.RoleSystem, Content: b.in.SystemPrompt}, prune.Not)
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
		out = append(out, b.measureAs(original, m, prune.Not))
	}
	return out
}

// prune applies the rules of pruning to the history. What stands before it counts
// towards the half of the window from which on results are cleared.
func (b *builder) prune(head systemPart) prune.Plan {
	history := b.in.History
	if b.in.Focus != nil {
		history = Focus(history, *b.in.Focus)
	}
	half := b.in.Limits.Window / 2
	if half <= 0 {
		half = b.in.Limits.MaxTokens / 2
	}
	if half > 0 {
		half = max(1, half-total(head.prompt)-total(head.optional))
	}
	return prune.Run(prune.Input{
		Messages: history, Forms: b.in.Forms, Settings: b.in.Pruning, Cold: b.in.Cold, Ahead: b.in.Ahead, Room: half, Count: b.count,
	})
}

// load is show for what pruning does not concern.
func (b *builder) load(stored []*models.SessionMessage) []Message {
	shown := make([]prune.Shown, 0, len(stored))
	for _, m := range stored {
		if m != nil {
			shown = append(shown, prune.Shown{Stored: m, Message: m.Clone()})
		}
	}
	return b.show(shown)
}

// show makes messages what the model sees of them.
func (b *builder) show(shown []prune.Shown) []Message {
	out := make([]Message, 0, len(shown))
	for _, s := range shown {
		m := s.Message
		switch {
		case m.Role == models.RoleUser && empty(m):
			continue
		case m.Role == models.RoleUser && m.Observed:
			m.Content = RenderObserved(speakerOf(m), m.Content)
		case m.Role == models.RoleUser:
			m.Content = RenderUser(b.speaker(m), m.Quote, m.Content)
		}
		out = append(out, b.measureAs(s.Stored, m, s.Pruned))
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
func (b *builder) measureAs(stored, sent *models.SessionMessage, pruned prune.Pruned) Message {
	if pruned == prune.Not && stored.TokenCount > 0 && stored.Content == sent.Content {
		return Message{sent, stored.TokenCount, pruned}
	}
	return b.measure(sent, pruned)
}

func (b *builder) measure(m *models.SessionMessage, pruned prune.Pruned) Message {
	m.TokenCount = tokens.Message(m, b.count)
	return Message{m, m.TokenCount, pruned}
}

func total(messages []Message) int {
	sum := 0
	for _, m := range messages {
		sum += m.Tokens
	}
	return sum
}
