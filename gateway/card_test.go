package gateway_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// withOpenCard lets a replica stop in the middle of a turn whose card is shown.
func withOpenCard(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.config.Grace = 50 * time.Millisecond
	drain := r.run()
	r.say(said("m1", "ann", wait))
	r.until("the card is shown", func() bool { return r.platform.shown() == 1 })
	if err := <-drain(); err != nil {
		t.Fatal(err)
	}
	if n := r.platform.open(); n != 1 {
		t.Fatalf("%d cards are open after the stop", n)
	}
	r.config.Grace = 5 * time.Second
	return r
}

func TestCardOfATurnThatWasHandedBackIsTakenOver(t *testing.T) {
	t.Parallel()
	r := withOpenCard(t)
	r.mind.release()
	r.start()
	r.ends("m1", models.InboundDone)
	equal(t, "screen", r.delivered(), "re: "+wait)
	if open, shown := r.platform.open(), r.platform.shown(); open != 0 || shown != 1 {
		t.Errorf("%d cards of %d are open", open, shown)
	}
}

func TestCardIsClosedIfTheNextAttemptEndsEarly(t *testing.T) {
	t.Parallel()
	r := withOpenCard(t)
	delete(r.settings.Agents, "assistant")
	r.start()
	r.ends("m1", models.InboundFailed)
	r.delivered()
	r.until("the card is finished", func() bool { return r.platform.open() == 0 })
}

func TestCardOfALostAnswerSaysSo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.say(said("m1", "ann", wait))
	r.until("the card is shown", func() bool { return r.platform.shown() == 1 })
	r.platform.fail(sendError(adapters.Refused, 0))
	r.mind.release()
	in := r.ends("m1", models.InboundDone)
	equal(t, "screen", r.delivered(), text.Say(text.English, text.AnswerNotSent))
	if n := r.platform.open(); n != 0 {
		t.Errorf("%d cards are open", n)
	}
	if p, err := r.store.Preview(context.Background(), in.ID); err == nil {
		t.Errorf("the card %s is remembered", p.ID)
	}
}

func TestRetryMakesADeliveryYoungAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.settings.MaxDeliveryAge = time.Nanosecond
	r.start()
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	equal(t, "screen", r.delivered())
	r.settings.MaxDeliveryAge = time.Second
	r.until("it is older than that", func() bool { return time.Since(r.deliveries()[0].CreatedAt) > 2*time.Second })
	r.gateway.Reload(r.settings)
	if _, err := r.gateway.RetryDelivery(context.Background(), r.deliveries()[0].ID); err != nil {
		t.Fatal(err)
	}
	equal(t, "screen after a retry by hand", r.delivered(), "re: hello")
}

// TestDeliveryToAnAccountThatIsGoneIsGivenUp sends to an account that was taken out
// of the configuration.
func TestDeliveryToAnAccountThatIsGoneIsGivenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.settings.MaxDeliveryAge = time.Nanosecond
	lost := &models.Delivery{
		ID: models.NewID("dlv"), Channel: "chat", Account: "gone", Target: models.Target{ChatID: "group"}, Text: "hello",
		State: models.DeliveryPending, Kind: models.DeliveryPush, Part: 1, Parts: 1, CreatedAt: time.Now().Add(-time.Hour),
	}
	if _, err := r.store.Enqueue(context.Background(), []*models.Delivery{lost}, store.Once{}, nil); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.delivered()
	if d := r.deliveries()[0]; d.State != models.DeliveryDead || !strings.Contains(d.Error, "maxDeliveryAge") {
		t.Errorf("delivery is %+v", d)
	}
}

// TestShutdownDoesNotWaitForWhatHangs gives a gateway a channel that does not stop.
func TestShutdownDoesNotWaitForWhatHangs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.config.Grace = time.Second
	r.platform.deaf = make(chan struct{})
	drain := r.run()
	began := time.Now()
	if err := <-drain(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	close(r.platform.deaf)
}

// TestAnswerOfACommandIsSentBeforeTheStop stops a gateway while a command runs.
func TestAnswerOfACommandIsSentBeforeTheStop(t *testing.T) {
	t.Parallel()
	r, database := newRig(t), &gate{text: "DELETE FROM commands", open: make(chan struct{})}
	r.open(database)
	drain := r.run()
	r.say(said("c1", "ann", "/whoami"))
	r.until("the command runs", func() bool { return database.seen.Load() > 0 })
	done := drain()
	r.until("the gateway drains", func() bool { return !r.gateway.Ready() })
	close(database.open)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := len(r.platform.screen()); n != 1 {
		t.Errorf("%d answers were sent", n)
	}
}

// gate lets a statement wait.
type gate struct {
	text string
	open chan struct{}
	seen atomic.Int64
}

func (g *gate) Statement(_ context.Context, sql string) error {
	if strings.Contains(sql, g.text) {
		g.seen.Add(1)
		<-g.open
	}
	return nil
}

func (*gate) Commit(context.Context) error    { return nil }
func (*gate) Committed(context.Context) error { return nil }

// TestSendingEndsByItselfWhenItsLeaseCannotBeRenewed cuts the renewals of targets.
func TestSendingEndsByItselfWhenItsLeaseCannotBeRenewed(t *testing.T) {
	t.Parallel()
	r, database := newRig(t), &stall{text: "lease_owner IS NOT NULL AND (id, fence) IN"}
	r.open(database)
	r.chat.Streaming = false
	r.platform.slow = make(chan error, 1)
	r.start()
	database.on.Store(true)
	r.say(said("m1", "ann", "hello"))
	select {
	case <-r.platform.slow: //nolint:errcheck // that it was called is all
	case <-time.After(4 * lease):
		t.Error("the sender went on without a lease")
	}
	r.platform.mu.Lock()
	r.platform.slow = nil
	r.platform.mu.Unlock()
	database.on.Store(false)
}

// TestContextViewIsThatOfTheNextTurn compares the view with what the agent is sent.
func TestContextViewIsThatOfTheNextTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	agent := r.settings.Agents["assistant"]
	agent.SystemPrompt = "You are in {{chat.name}}."
	r.settings.Agents["assistant"] = agent
	r.start()
	say := func(id, what string) {
		m := said(id, "ann", what)
		m.Chat.Name = "The Group"
		r.say(m)
		r.ends(id, models.InboundDone)
	}
	say("m1", "hello")
	key := r.inbound("m1").SessionKey
	view, err := r.gateway.Context(context.Background(), key, models.DefaultSlot)
	if err != nil {
		t.Fatal(err)
	}
	say("m2", "again")
	var shown, sent []string
	for _, m := range view.Messages {
		shown = append(shown, m.Content)
	}
	for _, m := range r.mind.last().Messages {
		sent = append(sent, m.Content)
	}
	equal(t, "view", shown, sent[:len(sent)-1]...)
}
