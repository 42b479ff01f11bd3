package compact

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// mostMessages bounds what one compaction reads, besides what it keeps. Older
// messages are no part of any context by then; the summary stands for them too.
const mostMessages = 1000

// MaxRules is how many system messages at the start of a slot are its rules, which
// no summary stands for: whoever builds a context shows them still.
const MaxRules = 4

// Store is what a compaction reads and changes.
type Store interface {
	LoadContext(ctx context.Context, key, slot string, limit int) (*store.SessionContext, error)
	ChangeSession(ctx context.Context, key string, change func(tx store.SessionTx) error) error
}

// Compactor compacts slots. It is safe for concurrent use.
type Compactor struct {
	store Store
	clock clock.Clock
	count tokens.Count
}

// New returns a compactor. Summaries are counted by count; nil is tokens.Estimate.
func New(s Store, c clock.Clock, count tokens.Count) *Compactor {
	if count == nil {
		count = tokens.Estimate
	}
	return &Compactor{store: s, clock: c, count: count}
}

// Request is one compaction.
type Request struct {
	Key  string
	Slot string // empty: the session's current one
	// Keep is how many of the newest messages stay; Fit how many tokens they may take.
	// See [Cut].
	Keep int
	Fit  int
	// Model writes the summary. Window is its context window in tokens; zero: unknown.
	Model  Model
	Window int
	// Instructions say what the summary is to heed, in the words of who asked for it.
	Instructions string
	// Commit, when set, is part of the transaction that stores the summary; an error undoes
	// it. It may run more than once. [store.ErrConflict] is as if the slot had been changed.
	Commit func(tx store.SessionTx, done Result) error
	// DryRun only finds out what would be replaced: no model is asked.
	DryRun bool
}

// Reason is why a slot was left as it is, for which nobody is to blame.
type Reason string

// The reasons.
const (
	TooShort Reason = "too_short" // there is nothing that a summary could replace
	Excluded Reason = "excluded"  // the slot is read-only, or keeps out compaction
	Changed  Reason = "changed"   // it was reset, undone or compacted meanwhile
)

// Result is what a compaction did or, if it was a dry run, would do.
type Result struct {
	// Changed is set if a summary was stored.
	Changed bool
	// Reason is empty if there is, or was, something to replace.
	Reason Reason
	// Replaced counts the messages that the summary stands for and that were shown
	// before; Kept those that stay.
	Replaced int
	Kept     int
	// Before and After are the tokens of the slot's context. After is zero unless Changed.
	Before int
	After  int
	// Usage is what the model was asked for, also where nothing came of it.
	Usage models.Usage
}

// plan is what a compaction replaces, and by what state of the slot.
type plan struct {
	slot       string
	generation int64
	through    int64
	earlier    string
	messages   []*models.SessionMessage // what is summarised, oldest first
	older      int                      // messages that the summary replaces unread
	tokens     int                      // of what the summary stands for, the earlier one too
}

// Compact puts a summary in the place of a slot's older messages. The slot is read,
// then the model asked, then the summary stored in a transaction of its own, which
// finds out whether the slot has been changed otherwise: messages that came
// meanwhile stay behind the summary. On an error the history is as it was.
// [store.ErrNotFound] for a session or slot that is not there.
func (c *Compactor) Compact(ctx context.Context, r Request) (Result, error) {
	stored, err := c.store.LoadContext(ctx, r.Key, r.Slot, mostMessages+r.Keep)
	if err != nil {
		return Result{}, fmt.Errorf("compact: %w", err)
	}
	if stored.Session == nil || stored.Slot == nil {
		return Result{}, fmt.Errorf("compact: %w", store.ErrNotFound)
	}
	p, result := c.plan(stored, r)
	if result.Reason != "" || r.DryRun {
		return result, nil
	}
	summary, usage, err := c.summary(ctx, p, r)
	result.Usage = usage
	if err != nil {
		return result, fmt.Errorf("compact: %w", err)
	}
	done := result
	done.Changed, done.After = true, result.Before-p.tokens+summary.TokenCount
	err = c.store.ChangeSession(ctx, r.Key, func(tx store.SessionTx) error {
		if err := tx.Compact(p.slot, p.generation, p.through, summary.Clone(), c.clock.Now()); err != nil || r.Commit == nil {
			return err
		}
		return r.Commit(tx, done)
	})
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		result.Reason = Changed
		return result, nil
	}
	if err != nil {
		return result, fmt.Errorf("compact: %w", err)
	}
	return done, nil
}

// plan says what is to be replaced. The system messages that a slot begins with are
// its rules: they are never summarised.
func (c *Compactor) plan(stored *store.SessionContext, r Request) (*plan, Result) {
	result := Result{Kept: len(stored.Messages), Before: stored.LiveTokens}
	if stored.Slot.Mode == models.SlotReadonly || !stored.Slot.Compact {
		result.Reason = Excluded
		return nil, result
	}
	live := stored.LiveMessages
	if stored.Summary != nil {
		live--
	}
	from, older := 0, max(0, live-len(stored.Messages))
	if stored.Summary == nil && len(stored.Messages) > 0 && stored.Messages[0].Seq <= MaxRules {
		from = min(leading(stored.Messages), MaxRules)
	}
	cut := Cut(stored.Messages, r.Keep, r.Fit)
	if cut <= from {
		result.Reason = TooShort
		return nil, result
	}
	p := &plan{
		slot: stored.Slot.ID, generation: stored.Generation, through: stored.Messages[cut-1].Seq,
		messages: stored.Messages[from:cut], older: older,
	}
	kept := stored.Messages[cut:]
	p.tokens = stored.LiveTokens - tokensOf(kept) - tokensOf(stored.Messages[:from])
	if stored.Summary != nil {
		p.earlier = stored.Summary.Content
	}
	result.Replaced, result.Kept = len(p.messages)+older, len(kept)
	return p, result
}

// summary asks for the summary and checks that it is shorter than what it replaces.
func (c *Compactor) summary(ctx context.Context, p *plan, r Request) (*models.SessionMessage, models.Usage, error) {
	s, err := newSummariser(r.Model, r.Window, r.Instructions)
	if err != nil {
		return nil, models.Usage{}, err
	}
	text, err := s.summarise(ctx, p.earlier, p.messages, p.older)
	if err != nil {
		return nil, s.usage, err
	}
	now := c.clock.Now()
	m := summaryMessage(text, now)
	room := p.tokens - tokens.Message(m, c.count) - 1
	m.Content = s.complete(m.Content, collect(p.earlier, p.messages), min(room, s.answer/2))
	m.TokenCount = tokens.Message(m, c.count)
	if m.TokenCount >= p.tokens {
		return nil, s.usage, ErrNoProgress
	}
	return m, s.usage, nil
}

// Summary returns a summary of what a slot got after a message, for another one, and
// the last message that it stands for; zero: there is nothing new. It stores nothing.
// Of the request Keep, Fit and DryRun do not count.
func (c *Compactor) Summary(ctx context.Context, r Request, after int64) (summary *models.SessionMessage, through int64, usage models.Usage, err error) {
	stored, err := c.store.LoadContext(ctx, r.Key, r.Slot, mostMessages)
	if err != nil {
		return nil, 0, usage, fmt.Errorf("summarise: %w", err)
	}
	var p plan
	for _, m := range stored.Messages {
		if m.Seq > after {
			p.messages, through = append(p.messages, m), m.Seq
		}
	}
	if stored.Summary != nil && stored.Summary.Seq > after {
		p.earlier, through = stored.Summary.Content, max(through, stored.Summary.Seq)
	}
	if through == 0 {
		return nil, 0, usage, nil
	}
	if len(p.messages) == 0 { // the slot's own summary says it all
		m := summaryMessage(p.earlier, c.clock.Now())
		m.TokenCount = tokens.Message(m, c.count)
		return m, through, usage, nil
	}
	p.tokens = math.MaxInt // it need not be shorter than anything
	summary, usage, err = c.summary(ctx, &p, r)
	if err != nil {
		return nil, 0, usage, fmt.Errorf("summarise: %w", err)
	}
	return summary, through, usage, nil
}

// summaryMessage is a summary as it is stored. Models do write what no database
// stores as text.
func summaryMessage(text string, now time.Time) *models.SessionMessage {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD")
	return &models.SessionMessage{ID: models.NewMessageID(now), Role: models.RoleSystem, Content: text, CreatedAt: now}
}
