package gateway

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/internal/tracing"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

const (
	// senders bounds the targets that are sent to at once.
	senders = 64
	// deliveryPoll is how often targets with something due are looked for without a nudge.
	deliveryPoll = 500 * time.Millisecond
	// sendTimeout bounds one attempt; the platforms' own clients give up sooner.
	sendTimeout = 30 * time.Second
	// markTimeout bounds the storing of what became of an attempt.
	markTimeout = 10 * time.Second
	// firstRetry and lastRetry bound the pause between attempts; it doubles in between.
	firstRetry = time.Second
	lastRetry  = 15 * time.Second
	// unavailablePause is the pause while an account itself cannot send.
	unavailablePause = 30 * time.Second
)

// deliverer sends what is due, one delivery at a time per target.
type deliverer struct {
	g      *Gateway
	slots  chan struct{}
	wake   chan struct{}
	base   context.Context //nolint:containedctx // the lifetime of what it owns, not of a call
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	stopped bool
	claims  map[string]*sending // by target id
}

// sending is one claimed target while it is worked on.
type sending struct {
	claim     store.TargetClaim
	renewedAt time.Time
	cancel    context.CancelCauseFunc
}

func newDeliverer(g *Gateway) *deliverer {
	d := &deliverer{g: g, slots: make(chan struct{}, senders), wake: make(chan struct{}, 1), claims: map[string]*sending{}}
	d.base, d.cancel = context.WithCancel(context.Background())
	return d
}

func (d *deliverer) nudge() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// reserve takes a sender if one is free, for start or unreserve.
func (d *deliverer) reserve() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return false
	}
	select {
	case d.slots <- struct{}{}:
		d.wg.Add(1)
		return true
	default:
		return false
	}
}

func (d *deliverer) unreserve() {
	<-d.slots
	d.wg.Done()
}

func (d *deliverer) claimRequest() store.ClaimRequest {
	return store.ClaimRequest{Owner: d.g.cfg.Owner, Lease: d.g.cfg.Lease}
}

// run claims targets with something due and renews their leases until ctx ends.
func (d *deliverer) run(ctx context.Context) {
	var renewals sync.WaitGroup
	defer renewals.Wait()
	renewals.Go(func() {
		for clock.Sleep(ctx, d.g.clock, d.g.cfg.Lease/3) == nil {
			d.renew(ctx)
		}
	})
	for ctx.Err() == nil {
		if d.g.cfg.Only == "" && d.claim(ctx) {
			continue
		}
		timer := d.g.clock.NewTimer(deliveryPoll)
		select {
		case <-ctx.Done():
		case <-d.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// claim claims due targets for half of the free senders, so that commits find one
// meanwhile, and reports whether more may be due.
func (d *deliverer) claim(ctx context.Context) bool {
	free := 0
	for most := (senders - len(d.slots) + 1) / 2; free < most && d.reserve(); {
		free++
	}
	if free == 0 {
		return false
	}
	claimedAt := d.g.now()
	bounded, cancel := context.WithTimeout(ctx, d.g.cfg.Lease)
	claims, err := d.g.store.ClaimTargets(bounded, d.claimRequest(), free)
	cancel()
	if err != nil && ctx.Err() == nil {
		d.g.log.Error("targets could not be claimed", "error", err)
	}
	for i := range free {
		if i < len(claims) {
			d.start(claims[i], claimedAt, nil)
		} else {
			d.unreserve()
		}
	}
	return len(claims) == free
}

// start works on a target that was claimed at claimedAt with a reserved sender. first
// is its delivery that is already marked sending; nil: the store is asked.
func (d *deliverer) start(claim store.TargetClaim, claimedAt time.Time, first *models.Delivery) {
	ctx, cancel := context.WithCancelCause(d.base)
	s := &sending{claim: claim, renewedAt: claimedAt, cancel: cancel}
	d.mu.Lock()
	d.claims[claim.ID] = s
	d.mu.Unlock()
	go func() {
		defer d.unreserve()
		defer func() {
			d.mu.Lock()
			if d.claims[claim.ID] == s {
				delete(d.claims, claim.ID)
			}
			d.mu.Unlock()
			cancel(nil)
		}()
		d.g.safely("sender", func() { d.send(ctx, claim, first) })
	}()
}

// send empties one target: as long as it has something due.
func (d *deliverer) send(ctx context.Context, claim store.TargetClaim, next *models.Delivery) {
	adapter := d.g.sender(claim.Channel, claim.Account) // nil: the account is not here
	var err error
	if next == nil {
		next, err = d.g.store.NextDelivery(ctx, claim, d.g.now())
	}
	for next != nil && err == nil {
		at, span := d.g.tracer.Send(tracing.Continue(ctx, next.Trace), "delivery")
		result, ended := d.attempt(at, adapter, next)
		if ended != nil {
			span.End()
			d.release(ctx, claim, 0) // the delivery stays sending: whoever is next decides
			return
		}
		d.g.metrics.DeliveryAttempt(next.Channel, string(result.State))
		d.g.crash(CrashBeforeMarking)
		if adapter != nil && (result.State == models.DeliveryDead || result.State == models.DeliveryFailed) {
			d.closeCard(ctx, adapter, next, result)
		}
		sent := next
		next, err = d.mark(ctx, claim, result)
		d.tell(span, sent, result, err)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrLeaseLost) {
		d.g.log.Error("delivery could not be marked", "channel", claim.Channel, "account", claim.Account, "error", err)
	}
}

// mark stores an attempt's result, and again while the database is away: what was
// sent must not be sent again.
func (d *deliverer) mark(ctx context.Context, claim store.TargetClaim, r store.DeliveryResult) (*models.Delivery, error) {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTimeout)
		next, err := d.g.store.FinishDelivery(bounded, claim, r)
		cancel()
		if err == nil || !errors.Is(err, store.ErrUnavailable) {
			return next, err
		}
		if clock.Sleep(ctx, d.g.clock, pause) != nil {
			return nil, err
		}
	}
}

// attempt makes one attempt, or none if the time for it is over. It fails only if
// the lease was lost or the process stops; nothing is known of the attempt then.
func (d *deliverer) attempt(ctx context.Context, adapter adapters.Adapter, m *models.Delivery) (store.DeliveryResult, error) {
	g := d.g
	now := g.now()
	result := store.DeliveryResult{ID: m.ID, Now: now}
	if limit := g.settings.Load().MaxDeliveryAge; limit > 0 && now.Sub(m.QueuedAt) > limit {
		result.State, result.Error = models.DeliveryDead, "not sent: older than limits.maxDeliveryAge"
		return result, nil
	}
	if adapter == nil {
		result.State, result.Error = models.DeliveryPending, "the account is not configured here"
		result.RetryAt = now.Add(unavailablePause)
		return result, nil
	}
	window := adapter.Traits().IdempotencyWindow
	if m.Ambiguous && !repeatable(m, window, now) {
		result.State, result.Error = models.DeliveryDead, "outcome unknown: it may have been sent; retry it by hand if it is missing"
		return result, nil
	}
	bounded, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	g.crash(CrashInDelivery)
	sent, err := d.contained(bounded, adapter, m)
	result.Now, result.CountAttempt = g.now(), true
	if err == nil {
		result.State, result.PlatformMessageID = models.DeliveryDelivered, sent.PlatformMessageID
		if sent.Ambiguous || m.Ambiguous && window == 0 {
			result.Error = "may have been sent twice: an earlier attempt ended without an answer"
		}
		return result, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return result, cause
	}
	d.refused(ctx, m, adapters.SendErrorOf(err), &result)
	g.log.LogAttrs(ctx, slog.LevelWarn, "delivery failed", slog.String("delivery", m.ID), slog.String("channel", m.Channel),
		slog.String("account", m.Account), slog.String("state", string(result.State)), slog.Any("error", err))
	return result, nil
}

// repeatable reports whether a delivery that may have been sent may be tried again:
// as long as the platform recognises a repeat, or once where it never does.
func repeatable(m *models.Delivery, window time.Duration, now time.Time) bool {
	if window == 0 {
		return m.Attempts <= 1
	}
	return now.Sub(m.FirstSentAt) < window-time.Minute
}

// contained dispatches a delivery; after a panic in the adapter nobody knows whether
// it was sent.
func (d *deliverer) contained(ctx context.Context, adapter adapters.Adapter, m *models.Delivery) (sent adapters.Sent, err error) {
	if !d.g.safely("adapter "+m.Channel, func() { sent, err = d.dispatch(ctx, adapter, m) }) {
		err = &adapters.SendError{Kind: adapters.Unknown, Err: errAdapterPanicked}
	}
	return sent, err
}

var errAdapterPanicked = errors.New("the adapter panicked")

// dispatch sends a delivery, by finishing its stream card if it has one.
func (d *deliverer) dispatch(ctx context.Context, adapter adapters.Adapter, m *models.Delivery) (adapters.Sent, error) {
	streamer, ok := adapter.(adapters.Streamer)
	if m.Preview == "" || !ok {
		return adapter.Send(ctx, m)
	}
	p, err := d.g.store.Preview(ctx, m.Preview)
	if errors.Is(err, store.ErrNotFound) {
		return d.plainly(ctx, adapter, m)
	}
	if err != nil {
		return adapters.Sent{}, &adapters.SendError{Kind: adapters.Retry, Err: err}
	}
	sent, err := streamer.FinishPreview(ctx, p, m)
	stored := d.g.store.UpdatePreviewState(ctx, p.ID, p.State)
	switch {
	case err != nil && adapters.SendErrorOf(err).Kind == adapters.Gone:
		return d.plainly(ctx, adapter, m)
	case err != nil:
		return sent, err
	case stored != nil:
		d.g.log.Warn("preview state could not be stored", "preview", p.ID, "error", stored)
	}
	return sent, nil
}

// closeCard finishes the stream card of a delivery that is given up, with a notice;
// with what it shows if that may be the whole answer. It is best effort: the card is
// forgotten together with the delivery's outcome.
func (d *deliverer) closeCard(ctx context.Context, adapter adapters.Adapter, m *models.Delivery, r store.DeliveryResult) {
	streamer, ok := adapter.(adapters.Streamer)
	if m.Preview == "" || !ok {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, previewCallTimeout)
	defer cancel()
	p, err := d.g.store.Preview(bounded, m.Preview)
	if err != nil || !p.Shown {
		return
	}
	last := *m
	last.ID = models.NewID("dlv")
	if m.Ambiguous || r.Ambiguous || m.Kind == models.DeliveryPreview {
		last.Kind, last.Text = models.DeliveryPreview, ""
	} else {
		chat, _ := d.g.settings.Load().Chat(m.Channel, m.Account, m.Target.ChatID)
		last.Kind, last.Text = models.DeliveryNotice, text.Say(text.Choose(chat.Language, m.Text), text.AnswerNotSent)
	}
	d.g.safely("adapter "+m.Channel, func() { _, err = streamer.FinishPreview(bounded, p, &last) })
	if err != nil {
		d.g.log.Warn("stream card of a lost answer could not be closed", "delivery", m.ID, "error", err)
	}
}

// plainly sends as a message what its stream card can no longer hold.
func (d *deliverer) plainly(ctx context.Context, adapter adapters.Adapter, m *models.Delivery) (adapters.Sent, error) {
	if m.Kind == models.DeliveryPreview {
		return adapters.Sent{}, nil // the card is gone, and there is nothing else to say
	}
	return adapter.Send(ctx, m)
}

// refused decides what follows from a failed attempt.
func (d *deliverer) refused(ctx context.Context, m *models.Delivery, e *adapters.SendError, r *store.DeliveryResult) {
	r.State, r.Error = models.DeliveryPending, oneLine(e.Error())
	pause := max(e.RetryAfter, retryPause(m.Attempts))
	switch e.Kind {
	case adapters.Retry, adapters.RateLimited:
	case adapters.Unavailable:
		pause, r.CountAttempt = max(e.RetryAfter, unavailablePause), false
	case adapters.Unknown:
		r.Ambiguous = true
	case adapters.Refused, adapters.Gone:
		r.State = models.DeliveryFailed
	case adapters.TargetGone:
		r.State = models.DeliveryFailed
		if n, err := d.g.store.CloseTarget(ctx, m.Channel, m.Account, m.Target, r.Error, r.Now); err != nil {
			d.g.log.Error("target could not be closed", "delivery", m.ID, "error", err)
		} else if n > 0 {
			d.g.log.Warn("chat is gone, deliveries were given up", "channel", m.Channel, "account", m.Account, "count", n)
		}
	}
	r.RetryAt = r.Now.Add(pause)
}

// retryPause doubles with the attempts and is spread by a quarter either way.
func retryPause(attempts int) time.Duration {
	pause := lastRetry
	if attempts < 4 {
		pause = min(firstRetry<<attempts, lastRetry)
	}
	return pause*3/4 + rand.N(pause/2)
}

func oneLine(s string) string {
	out := []rune(s)
	for i, r := range out {
		if r == '\n' || r == '\r' {
			out[i] = ' '
		}
	}
	if s = string(out); len(s) > models.MaxError {
		return strings.ToValidUTF8(s[:models.MaxError-3], "") + "..."
	}
	return s
}

func (d *deliverer) release(ctx context.Context, claim store.TargetClaim, delay time.Duration) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTimeout)
	defer cancel()
	if err := d.g.store.ReleaseTarget(bounded, claim, delay); err != nil && !errors.Is(err, store.ErrLeaseLost) {
		d.g.log.Error("target could not be released", "channel", claim.Channel, "account", claim.Account, "error", err)
	}
}

// renew extends the leases of the targets that are sent to. As with lanes, one that was
// not renewed for two thirds of its lease is given up without asking the database:
// before the lease ends nobody here sends to it any more.
func (d *deliverer) renew(ctx context.Context) {
	started := d.g.now()
	d.mu.Lock()
	claims := make([]store.TargetClaim, 0, len(d.claims))
	for _, s := range d.claims {
		claims = append(claims, s.claim)
	}
	d.mu.Unlock()
	if len(claims) == 0 {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, d.g.cfg.Lease/3)
	defer cancel()
	lost, err := d.g.store.RenewTargets(bounded, claims, d.g.cfg.Lease)
	if err != nil {
		d.g.log.Error("target leases could not be renewed", "error", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range claims {
		s := d.claims[c.ID]
		switch gone := slices.Contains(lost, c); {
		case s == nil || s.claim != c:
		case err == nil && !gone:
			s.renewedAt = started
		case gone, d.g.now().Sub(s.renewedAt) >= d.g.cfg.Lease*2/3:
			s.cancel(store.ErrLeaseLost)
		}
	}
}

// flush sends what is due and waits until nothing is being sent any more; once ctx ends it cuts what is left,
// which is sent by another replica or after the next start.
func (d *deliverer) flush(ctx context.Context) {
	if d.g.cfg.Only == "" {
		for ctx.Err() == nil && d.claim(ctx) { // what was said last has not been looked for yet
		}
	}
	idle := make(chan struct{})
	d.mu.Lock()
	d.stopped = true
	d.mu.Unlock()
	go func() {
		d.wg.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	d.cancel()
	<-idle
}
