package gateway_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
)

// platform is an account of a chat platform that lives in memory: people see its
// screen, sends fail as scripted, and stream cards must be opened before they are
// shown and finished in the end.
type platform struct {
	mu       sync.Mutex
	traits   adapters.Traits
	sink     adapters.Sink
	faults   []error
	attempts int
	lines    []line
	cards    map[string]*card
	updates  []string        // texts that cards showed on the way
	signs    map[string]bool // message ids that carry a working sign
	// invisible is an answer that shows nothing; bad is the call that panics.
	invisible, bad string
	// deaf is set if Run does not end with its context, until it is closed.
	deaf chan struct{}
	// slow, if set, makes sends wait for the end of their context, which it receives.
	slow chan error
}

type line struct{ id, chat, thread, text string }

type card struct {
	text            string
	shown, finished bool
}

func newPlatform() *platform {
	return &platform{traits: adapters.Traits{Streams: true}, cards: map[string]*card{}, signs: map[string]bool{}}
}

func (p *platform) Channel() string         { return "chat" }
func (p *platform) Account() string         { return "main" }
func (p *platform) Status() adapters.Status { return adapters.Status{Connected: true} }
func (p *platform) Traits() adapters.Traits { return p.traits }

func (p *platform) Run(ctx context.Context, sink adapters.Sink) error {
	p.mu.Lock()
	p.sink = sink
	p.mu.Unlock()
	if p.bad == "run" {
		panic("run")
	}
	<-ctx.Done()
	if p.deaf != nil {
		<-p.deaf
	}
	return nil
}

func (p *platform) connected() bool { return p.events() != nil }

func (p *platform) events() adapters.Sink {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sink
}

func (p *platform) Render(a adapters.Answer) []string {
	if p.invisible != "" && a.Text == p.invisible {
		return nil
	}
	return []string{a.Text}
}

// fail scripts the next attempts to send. A nil error lets one through.
func (p *platform) fail(errs ...error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, errs...)
}

func (p *platform) fault() error {
	p.attempts++
	if len(p.faults) == 0 {
		return nil
	}
	err := p.faults[0]
	p.faults = p.faults[1:]
	return err
}

func (p *platform) Send(ctx context.Context, d *models.Delivery) (adapters.Sent, error) {
	p.mu.Lock()
	if slow := p.slow; slow != nil {
		p.mu.Unlock()
		<-ctx.Done()
		select {
		case slow <- context.Cause(ctx):
		default:
		}
		return adapters.Sent{}, ctx.Err()
	}
	defer p.mu.Unlock()
	if p.bad == "send" {
		panic("send")
	}
	if err := p.fault(); err != nil {
		return adapters.Sent{}, err
	}
	p.lines = append(p.lines, line{d.ID, d.Target.ChatID, d.Target.ThreadID, d.Text})
	return adapters.Sent{PlatformMessageID: "om_" + d.ID}, nil
}

// screen returns what the bot wrote, finished cards included, oldest first.
func (p *platform) screen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, l := range p.lines {
		out = append(out, l.text)
	}
	return out
}

// where returns chat and thread of what the bot wrote.
func (p *platform) where() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, l := range p.lines {
		out = append(out, l.chat+"/"+l.thread+": "+l.text)
	}
	return out
}

func (p *platform) sent() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.attempts
}

func (p *platform) ShowWorking(_ context.Context, m *adapters.Message) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.signs[m.ID] = true
	return "sign-" + m.ID, nil
}

func (p *platform) HideWorking(_ context.Context, m *adapters.Message, _ string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.signs, m.ID)
	return nil
}

func (p *platform) working() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for id := range p.signs {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

func (p *platform) OpenPreview(_ context.Context, c *models.Preview) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bad == "open" {
		panic("open")
	}
	p.cards[c.ID] = &card{}
	c.State = []byte("open")
	return nil
}

func (p *platform) ShowPreview(_ context.Context, c *models.Preview) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cards[c.ID].shown = true
	return nil
}

func (p *platform) UpdatePreview(_ context.Context, c *models.Preview, text string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cards[c.ID].text = text
	p.updates = append(p.updates, text)
	return nil
}

func (p *platform) FinishPreview(_ context.Context, c *models.Preview, d *models.Delivery) (adapters.Sent, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.fault(); err != nil {
		return adapters.Sent{}, err
	}
	shown := p.cards[c.ID]
	shown.finished = true
	if d.Kind != models.DeliveryPreview {
		shown.text = d.Text
		p.lines = append(p.lines, line{d.ID, d.Target.ChatID, d.Target.ThreadID, d.Text})
	}
	return adapters.Sent{PlatformMessageID: "card_" + c.ID}, nil
}

// open counts the cards that people see and that are not finished.
func (p *platform) open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, c := range p.cards {
		if c.shown && !c.finished {
			n++
		}
	}
	return n
}

// shown counts the cards that people have seen.
func (p *platform) shown() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, c := range p.cards {
		if c.shown {
			n++
		}
	}
	return n
}

var errScripted = errors.New("scripted")

func sendError(kind adapters.SendErrorKind, after time.Duration) error {
	return &adapters.SendError{Kind: kind, RetryAfter: after, Err: errScripted}
}

// hourly makes a chat wait for longer than any test.
var hourly = adapters.SendError{Kind: adapters.RateLimited, RetryAfter: time.Hour, Err: errScripted}

func pushToGroup(text string) gateway.Push {
	return gateway.Push{Channel: "chat", Account: "main", Target: models.Target{ChatID: "group"}, Text: text}
}
