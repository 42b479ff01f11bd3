package storetest

import (
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func previewTests() []test {
	return []test{
		{"LivesWithItsTurn", previewLives},
		{"StoppedTurnMayNotShow", previewStopped},
		{"FinishClosesTheCard", previewClosed},
		{"InterruptClosesTheCard", previewInterrupted},
		{"DeleteClosesTheCard", previewDeleted},
		{"EveryEndForgetsTheCard", previewForgotten},
		{"CommitClosesTheCard", previewLeft},
		{"DeleteClosesAFinishedTurnsCard", previewOrphan},
		{"SweptInTheEnd", previewSwept},
		{"ErasedWithItsSession", previewErased},
		{"TargetBusy", previewBusy},
	}
}

func (f *fixture) preview(turn *store.Turn) *models.Preview {
	first := turn.Inbounds[0]
	return &models.Preview{
		ID: "pre_" + first.ID, InboundID: first.ID, SessionKey: first.SessionKey, Channel: "feishu", Account: "main",
		Target: models.Target{ChatID: "oc_1", ReplyTo: "om_1", Ref: []byte{0, 0xff}}, State: []byte{0xfe, 0, 1}, CreatedAt: f.now,
	}
}

func previewLives(f *fixture) {
	turn := f.start(f.key())
	p := f.preview(turn)
	_, err := f.Preview(f.ctx, p.ID)
	f.fails(err, store.ErrNotFound)
	f.ok(f.SavePreview(f.ctx, turn.Claim, p))
	p.Shown, p.State = true, []byte("entity 7")
	f.ok(f.SavePreview(f.ctx, turn.Claim, p))
	got, err := f.Preview(f.ctx, p.ID)
	f.ok(err)
	f.sameTime("createdAt", got.CreatedAt, p.CreatedAt)
	got.CreatedAt = p.CreatedAt
	equal(f, "preview", *got, *p)

	d := f.parts(turn, "oc_1", 1)
	d[0].Preview = p.ID
	f.commit(f.answer(turn, "answer", deliver(d...)))
	f.ok(f.UpdatePreviewState(f.ctx, p.ID, []byte("sequence 8"))) // the turn is over, the card is not
	got, err = f.Preview(f.ctx, p.ID)
	f.ok(err)
	equal(f, "state", string(got.State), "sequence 8")
	equal(f, "sent", texts(f.sendAll()), []string{"part 1"})
	_, err = f.Preview(f.ctx, p.ID)
	f.fails(err, store.ErrNotFound)
}

// previewForgotten ends the delivery that carries a card in each final state.
func previewForgotten(f *fixture) {
	for _, state := range []models.DeliveryState{models.DeliveryDelivered, models.DeliveryFailed, models.DeliveryDead} {
		turn := f.start(f.key())
		p := f.preview(turn)
		f.ok(f.SavePreview(f.ctx, turn.Claim, p))
		d := f.parts(turn, "oc_"+string(state), 1)
		d[0].Preview = p.ID
		f.commit(f.answer(turn, "answer", deliver(d...)))
		c := f.claimTarget(claim())
		sending := f.next(c)
		_, err := f.FinishDelivery(f.ctx, c, store.DeliveryResult{ID: sending.ID, State: models.DeliveryPending, RetryAt: f.at(-time.Second), Now: f.now})
		f.ok(err)
		_, err = f.Preview(f.ctx, p.ID)
		f.ok(err)
		_, err = f.FinishDelivery(f.ctx, c, store.DeliveryResult{ID: sending.ID, State: state, Now: f.now})
		f.ok(err)
		_, err = f.Preview(f.ctx, p.ID)
		f.fails(err, store.ErrNotFound)
	}
}

// previewLeft ends a turn that did not look for the card of an earlier attempt.
func previewLeft(f *fixture) {
	turn := f.start(f.key())
	p := f.preview(turn)
	p.Shown = true
	f.ok(f.SavePreview(f.ctx, turn.Claim, p))
	f.commit(f.answer(turn, "answer", func(c *store.TurnCommit) { c.ClosePreviews = true }))
	f.closes(p)
	_, err := f.Preview(f.ctx, p.ID)
	f.fails(err, store.ErrNotFound)
}

// previewOrphan deletes a session whose finished turn left the card to a delivery
// that waits.
func previewOrphan(f *fixture) {
	turn := f.start(f.key())
	p := f.preview(turn)
	p.Shown = true
	f.ok(f.SavePreview(f.ctx, turn.Claim, p))
	d := f.parts(turn, "oc_1", 1)
	d[0].Preview = p.ID
	f.commit(f.answer(turn, "answer", deliver(d...)))
	f.delete(turn.Claim.SessionKey)
	f.closes(p)
}

// previewSwept leaves a card that nobody will ever finish.
func previewSwept(f *fixture) {
	turn := f.start(f.key())
	f.ok(f.SavePreview(f.ctx, turn.Claim, f.preview(turn)))
	swept, err := f.Sweep(f.ctx, f.at(time.Hour), store.Retention{}, 100)
	f.ok(err)
	equal(f, "swept", swept.Previews, 0)
	swept, err = f.Sweep(f.ctx, f.at(30*24*time.Hour), store.Retention{}, 100)
	f.ok(err)
	equal(f, "swept", swept.Previews, 1)
}

// previewErased deletes a session whose card was never asked about again.
func previewErased(f *fixture) {
	turn := f.start(f.key())
	p := f.preview(turn)
	f.ok(f.SavePreview(f.ctx, turn.Claim, p))
	f.commit(f.answer(turn, "answer")) // nothing finishes the card
	f.delete(turn.Claim.SessionKey)
	_, err := f.CloseTarget(f.ctx, p.Channel, p.Account, p.Target, "the chat is gone", f.now)
	f.ok(err)
	f.eraseAll()
	_, err = f.Preview(f.ctx, p.ID)
	f.fails(err, store.ErrNotFound)
}

func previewStopped(f *fixture) {
	turn := f.start(f.key())
	f.finish(turn.Claim.SessionKey, models.InboundCancelled, turn.Inbounds[0].ID)
	f.fails(f.SavePreview(f.ctx, turn.Claim, f.preview(turn)), store.ErrStopped)
	_, err := f.Preview(f.ctx, f.preview(turn).ID)
	f.fails(err, store.ErrNotFound)

	key := f.key()
	f.waiting(key)
	zombie := f.begin(f.claimLane(dying()))
	f.begin(f.takeOver(key))
	f.fails(f.SavePreview(f.ctx, zombie.Claim, f.preview(zombie)), store.ErrLeaseLost)
}

func previewClosed(f *fixture) {
	turn := f.start(f.key())
	p := f.preview(turn)
	p.Shown = true
	f.ok(f.SavePreview(f.ctx, turn.Claim, p))
	f.finish(turn.Claim.SessionKey, models.InboundCancelled, turn.Inbounds[0].ID)
	d := f.next(f.claimTarget(claim()))
	if d == nil || d.Preview != p.ID {
		f.Fatalf("delivery is %+v, want one that closes %s", d, p.ID)
	}
	equal(f, "kind", d.Kind, models.DeliveryPreview)
	equal(f, "target", d.Target, p.Target)
	equal(f, "deliveries", len(f.deliveries("")), 1)

	// Without a card there is nothing to close.
	other := f.start(f.key())
	f.finish(other.Claim.SessionKey, models.InboundCancelled, other.Inbounds[0].ID)
	equal(f, "deliveries", len(f.deliveries("")), 1)
}

// closes checks that a delivery without a text closes the card.
func (f *fixture) closes(p *models.Preview) {
	f.Helper()
	sent := f.sendAll()
	if len(sent) != 1 || sent[0].Preview != p.ID || sent[0].Text != "" {
		f.Fatalf("sent %d deliveries, want one that closes %s", len(sent), p.ID)
	}
}

func previewInterrupted(f *fixture) {
	turn := f.start(f.key())
	p := f.preview(turn)
	p.Shown = true
	f.ok(f.SavePreview(f.ctx, turn.Claim, p))
	f.accept(f.message(turn.Claim.SessionKey, interrupting))
	f.closes(p)
}

func previewDeleted(f *fixture) {
	turn := f.start(f.key())
	p := f.preview(turn)
	p.Shown = true
	f.ok(f.SavePreview(f.ctx, turn.Claim, p))
	f.delete(turn.Claim.SessionKey)
	f.closes(p)
}

func previewBusy(f *fixture) {
	busy := func(channel, account, chat, thread string) bool {
		b, err := f.TargetBusy(f.ctx, channel, account, models.Target{ChatID: chat, ThreadID: thread, ReplyTo: "om_9"})
		f.ok(err)
		return b
	}
	equal(f, "busy", busy("feishu", "main", "oc_1", ""), false)
	f.enqueue(f.delivery("oc_1", "text"))
	equal(f, "busy", busy("feishu", "main", "oc_1", ""), true)
	equal(f, "another thread is busy", busy("feishu", "main", "oc_1", "omt_1"), false)
	equal(f, "another account is busy", busy("feishu", "second", "oc_1", ""), false)
	c := f.claimTarget(claim())
	d := f.next(c)
	equal(f, "busy", busy("feishu", "main", "oc_1", ""), true)
	_, err := f.FinishDelivery(f.ctx, c, f.sent(d))
	f.ok(err)
	equal(f, "busy", busy("feishu", "main", "oc_1", ""), false)
}
