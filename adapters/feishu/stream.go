package feishu

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/markdown"
	"github.com/chatkeep/chatkeep/models"
)

// The rules of streaming cards:
// https://open.feishu.cn/document/cardkit-v1/streaming-updates-openapi-overview.
const (
	// updateEvery paces updates; the platform takes 10 a second for one card.
	updateEvery = 400 * time.Millisecond
	// streamFor is how long a card streams before it must be told to go on; the
	// platform ends it after 10 minutes.
	streamFor = 9 * time.Minute
	// The sequence of a card's operations must rise. It is stored every sequenceSaved
	// operations and jumps by sequenceJump after a restart.
	sequenceSaved = 50
	sequenceJump  = 100
	// updatePause is how long updates rest after the platform asked to slow down.
	updatePause = 2 * time.Second
)

// previewState is what is stored with a preview.
type previewState struct {
	CardID    string    `json:"card_id"`
	MessageID string    `json:"message_id,omitempty"`
	Sequence  int       `json:"sequence"`
	OpenedAt  time.Time `json:"opened_at"`
}

// liveCard is what is known of a card in memory. One goroutine at a time uses it.
type liveCard struct {
	previewState
	sequence int
	shown    string
	nextAt   time.Time
}

// save stores the state with the preview.
func (c *liveCard) save(p *models.Preview) {
	c.Sequence = c.sequence
	p.State = []byte(encode(c.previewState))
}

// next returns the sequence of the next operation.
func (c *liveCard) next(p *models.Preview) int {
	c.sequence++
	if c.sequence-c.Sequence > sequenceSaved {
		c.save(p)
	}
	return c.sequence
}

// card returns what is known of a preview's card.
func (a *Adapter) card(p *models.Preview) (*liveCard, error) {
	if c, ok := a.previews.Get(p.ID); ok {
		return c, nil
	}
	c := &liveCard{}
	if err := json.Unmarshal(p.State, &c.previewState); err != nil || c.CardID == "" {
		return nil, &adapters.SendError{Kind: adapters.Gone, Err: errors.New("the preview has no card")}
	}
	c.sequence = c.Sequence + sequenceJump
	a.previews.Add(p.ID, c)
	return c, nil
}

// OpenPreview makes the card, which nobody sees yet.
func (a *Adapter) OpenPreview(ctx context.Context, p *models.Preview) error {
	if !a.cfg.chat(p.Target.ChatID).Streaming {
		return &adapters.SendError{Kind: adapters.Refused, Err: errors.New("answers are not streamed in this chat")}
	}
	if len(p.State) > 0 {
		return nil
	}
	if err := a.api.limits.wait(ctx, laneCards); err != nil {
		return err
	}
	id, err := a.api.createCard(ctx, streamingCard("…", p.InboundID))
	if err == nil && id == "" {
		err = errors.New("the platform made a card without an id")
	}
	if err != nil {
		return sendError(err)
	}
	c := &liveCard{previewState: previewState{CardID: id, OpenedAt: a.clock.Now().UTC()}}
	c.save(p)
	a.previews.Add(p.ID, c)
	return nil
}

// ShowPreview sends the card. Its uuid is the preview's, so a repetition shows it once.
func (a *Adapter) ShowPreview(ctx context.Context, p *models.Preview) error {
	c, err := a.card(p)
	if err != nil {
		return err
	}
	if c.MessageID != "" {
		return nil
	}
	reference := encode(struct {
		Type string            `json:"type"`
		Data map[string]string `json:"data"`
	}{"card", map[string]string{"card_id": c.CardID}})
	sent, err := a.deliver(ctx, p.Target, content{typeCard, reference}, uuidOf(p.ID, ""))
	if err != nil {
		return sendError(err)
	}
	c.MessageID = sent.id
	c.save(p)
	return nil
}

// UpdatePreview shows the text so far, as far as it fits the card.
func (a *Adapter) UpdatePreview(ctx context.Context, p *models.Preview, text string) error {
	c, err := a.card(p)
	if err != nil {
		return err
	}
	text = headOf(clean(text))
	now := a.clock.Now()
	if now.Before(c.nextAt) || text == "" || text == c.shown || !a.api.limits.allow(laneCards) {
		return nil
	}
	c.nextAt = now.Add(updateEvery)
	if now.Sub(c.OpenedAt) >= streamFor {
		if err := a.reopen(ctx, p, c); err != nil {
			return sendError(err)
		}
	}
	write := func(ctx context.Context, sequence int) error {
		return a.api.cardText(ctx, c.CardID, textElement, text, sequence)
	}
	err = a.operate(ctx, p, c, write)
	if classOf(err) == classCardStreaming {
		if err = a.reopen(ctx, p, c); err == nil {
			err = a.operate(ctx, p, c, write)
		}
	}
	if classOf(err) == classRate {
		c.nextAt = now.Add(max(adapters.SendErrorOf(sendError(err)).RetryAfter, updatePause))
		return nil
	}
	if err == nil {
		c.shown = text
	}
	return sendError(err)
}

// headOf returns as much of a growing text as a card holds.
func headOf(text string) string {
	if !fitsCard(text) {
		if pieces := markdown.Split(text, fitsCard); len(pieces) > 0 {
			text = pieces[0]
		}
	}
	return limitTables(strings.TrimSpace(text))
}

// operate does one operation on a card, and once more with a higher sequence if
// the platform has seen a higher one.
func (a *Adapter) operate(ctx context.Context, p *models.Preview, c *liveCard, do func(ctx context.Context, sequence int) error) error {
	err := do(ctx, c.next(p))
	if classOf(err) == classCardSequence {
		c.sequence += sequenceJump
		err = do(ctx, c.next(p))
	}
	return err
}

// reopen makes a card stream again.
func (a *Adapter) reopen(ctx context.Context, p *models.Preview, c *liveCard) error {
	err := a.operate(ctx, p, c, func(ctx context.Context, sequence int) error {
		return a.api.cardStreaming(ctx, c.CardID, true, sequence)
	})
	if err == nil {
		c.OpenedAt = a.clock.Now().UTC()
		c.save(p)
	}
	return err
}

// FinishPreview ends the stream and writes the final text, without the button.
func (a *Adapter) FinishPreview(ctx context.Context, p *models.Preview, d *models.Delivery) (adapters.Sent, error) {
	c, err := a.card(p)
	if err != nil {
		return adapters.Sent{}, err
	}
	if !p.Shown {
		a.previews.Remove(p.ID)
		if d.Kind == models.DeliveryPreview {
			return adapters.Sent{}, nil
		}
		return adapters.Sent{}, &adapters.SendError{Kind: adapters.Gone, Err: errors.New("the card was never shown")}
	}
	if c.MessageID == "" { // shown just before a crash, or not: the uuid makes it once
		// A card that was shown longer ago than uuids are known is refused, and is there.
		if err := a.ShowPreview(ctx, p); err != nil && classOf(err) != classContent {
			return adapters.Sent{}, err
		}
	}
	if err := a.api.limits.wait(ctx, laneCards); err != nil {
		return adapters.Sent{}, err
	}
	if err := a.closeCard(ctx, p, c, d); err != nil {
		return adapters.Sent{}, finishError(err)
	}
	a.previews.Remove(p.ID)
	if _, err := a.sendFiles(ctx, d); err != nil {
		return adapters.Sent{}, sendError(err)
	}
	return adapters.Sent{PlatformMessageID: cmp.Or(c.MessageID, c.CardID)}, nil
}

func (a *Adapter) closeCard(ctx context.Context, p *models.Preview, c *liveCard, d *models.Delivery) error {
	err := a.operate(ctx, p, c, func(ctx context.Context, sequence int) error {
		return a.api.cardStreaming(ctx, c.CardID, false, sequence)
	})
	if err != nil && classOf(err) != classCardStreaming {
		return fmt.Errorf("close stream: %w", err)
	}
	if d.Kind == models.DeliveryPreview || strings.TrimSpace(d.Text) == "" {
		err := a.operate(ctx, p, c, func(ctx context.Context, sequence int) error {
			return a.api.deleteElement(ctx, c.CardID, stopElement, sequence)
		})
		if classOf(err) == classCardGone { // the button is gone already
			return nil
		}
		return err
	}
	final := finalCard(d.Text, d.Buttons...)
	if wireSize(final) > maxContent {
		return &adapters.SendError{Kind: adapters.Gone, Err: errors.New("the text does not fit the card")}
	}
	return a.operate(ctx, p, c, func(ctx context.Context, sequence int) error {
		return a.api.updateCard(ctx, c.CardID, final, sequence)
	})
}

// finishError classifies what went wrong with a card: what the card will never
// take may still be sent as a message.
func finishError(err error) error {
	e := adapters.SendErrorOf(sendError(err))
	var refused *apiError
	if errors.As(err, &refused) && e.Kind == adapters.Refused {
		return &adapters.SendError{Kind: adapters.Gone, Code: e.Code, Err: e.Err}
	}
	return e
}
