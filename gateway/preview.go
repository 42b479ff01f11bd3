package gateway

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// previewCallTimeout bounds one call to the platform about a stream card.
const previewCallTimeout = 10 * time.Second

// previewer shows an answer while it grows. It is best effort: whatever fails
// here, the answer itself is delivered. A nil previewer shows nothing.
type previewer struct {
	r        *turn
	streamer adapters.Streamer
	card     *models.Preview

	mu     sync.Mutex
	text   []byte
	tools  []string // that run now
	closed bool
	saved  bool // the card has a row: it must be finished
	looked bool // it is known whether an earlier attempt left a card

	growing context.Context //nolint:containedctx // ends with the answer: what only shows it growing is cut then
	cancel  context.CancelFunc
	changed chan struct{}
	done    chan struct{}
}

// newPreviewer returns a previewer if the chat wants one and its platform can.
func (r *turn) newPreviewer(ctx context.Context) *previewer {
	streamer, ok := r.adapter.(adapters.Streamer)
	if !ok || !r.chat.Streaming || !r.adapter.Traits().Streams || r.env.Pulled {
		return nil
	}
	p := &previewer{
		r: r, streamer: streamer, changed: make(chan struct{}, 1), done: make(chan struct{}),
		card: &models.Preview{
			ID: r.head.ID, InboundID: r.head.ID, SessionKey: r.head.SessionKey,
			Channel: r.head.Channel, Account: r.head.Account, Target: r.env.target(), CreatedAt: r.g.now(),
		},
	}
	p.growing, p.cancel = context.WithCancel(ctx)
	go r.g.safely("stream card", func() { p.show(ctx) })
	return p
}

// emit takes a piece of the answer, or that a tool began or ended.
func (p *previewer) emit(e agents.Event) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if e.Restart {
		p.text, p.tools = p.text[:0], nil
	}
	p.text = append(p.text, e.Delta...)
	if t := e.Tool; t != nil && t.Phase == agents.ToolStarted {
		p.tools = append(p.tools, t.Name)
	} else if t != nil {
		if i := slices.Index(p.tools, t.Name); i >= 0 {
			p.tools = slices.Delete(p.tools, i, i+1)
		}
	}
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// stop ends the updates, the one that is under way as well: nobody waits for them any
// more. The card is then finished by a delivery.
func (p *previewer) stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.changed)
	}
	p.mu.Unlock()
	p.cancel()
	<-p.done
}

// lookedUp reports whether the turn knows of any card that there is.
func (p *previewer) lookedUp() bool { return p != nil && p.looked }

// opened returns the card's id if it has to be finished, else "".
func (p *previewer) opened() string {
	if p == nil || !p.saved {
		return ""
	}
	return p.card.ID
}

// show opens the card with the first text and updates it until stopped.
func (p *previewer) show(ctx context.Context) {
	defer close(p.done)
	resumed, err := p.resume(ctx)
	p.looked = err == nil
	if err != nil {
		p.failed(ctx, "resume", err)
		return
	}
	if !p.wait(ctx) {
		return
	}
	if !resumed {
		if err := p.open(ctx); err != nil {
			p.failed(p.growing, "open", err)
			return
		}
	}
	for ok := true; ok; ok = p.wait(ctx) {
		shown := p.soFar()
		if shown == "" {
			continue
		}
		err := p.call(ctx, p.growing, func(ctx context.Context) error { return p.streamer.UpdatePreview(ctx, p.card, shown) })
		if err != nil {
			p.failed(p.growing, "update", err)
			return
		}
	}
}

// soFar is what the card shows: the answer as far as it is known, and the tools that
// run.
func (p *previewer) soFar() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	shown := string(p.text)
	if len(p.tools) == 0 {
		return shown
	}
	if shown != "" {
		shown += "\n\n"
	}
	return shown + text.Say(p.r.lang, text.ToolRunning, "`"+strings.Join(p.tools, "`, `")+"`")
}

// wait returns once there is new text, or false once there will be no more.
func (p *previewer) wait(ctx context.Context) bool {
	select {
	case _, more := <-p.changed:
		return more && ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// resume finds the card that an earlier attempt at this turn left open. It always
// looks: an attempt that was handed back is not counted.
func (p *previewer) resume(ctx context.Context) (bool, error) {
	card, err := p.r.g.store.Preview(ctx, p.card.ID)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	p.card, p.saved = card, true
	if card.Shown {
		return true, nil
	}
	return true, p.makeVisible(ctx)
}

// open makes the card, stores it, then shows it: it is never visible and unknown.
func (p *previewer) open(ctx context.Context) error {
	busy, err := p.r.g.store.TargetBusy(ctx, p.card.Channel, p.card.Account, p.card.Target)
	if err != nil {
		return err
	}
	if busy {
		return errTargetBusy
	}
	bounded, cancel := context.WithTimeout(p.growing, previewCallTimeout)
	err = p.streamer.OpenPreview(bounded, p.card)
	cancel()
	if err != nil {
		return err
	}
	if err := p.r.g.store.SavePreview(ctx, p.r.t.Claim, p.card); err != nil {
		return err
	}
	p.saved = true
	return p.makeVisible(ctx)
}

var errTargetBusy = errors.New("an earlier message to the chat is not sent yet")

func (p *previewer) makeVisible(ctx context.Context) error {
	p.card.Shown = true // stored before it may be true
	if err := p.r.g.store.SavePreview(ctx, p.r.t.Claim, p.card); err != nil {
		return err
	}
	return p.call(ctx, ctx, func(ctx context.Context) error { return p.streamer.ShowPreview(ctx, p.card) })
}

// call makes one call to the platform, at most while during lasts, and stores the
// card's state if it changed.
func (p *previewer) call(ctx, during context.Context, do func(context.Context) error) error {
	before := bytes.Clone(p.card.State)
	bounded, cancel := context.WithTimeout(during, previewCallTimeout)
	err := do(bounded)
	cancel()
	if !bytes.Equal(before, p.card.State) {
		if saveErr := p.r.g.store.SavePreview(ctx, p.r.t.Claim, p.card); err == nil {
			err = saveErr
		}
	}
	return err
}

func (p *previewer) failed(ctx context.Context, what string, err error) {
	if ctx.Err() == nil && !errors.Is(err, errTargetBusy) {
		p.r.g.log.Warn("stream card failed", "step", what, "inbound", p.card.InboundID, "error", err)
	}
}
