package storetest

import (
	"context"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func limitTests() []test {
	return []test{
		{"TooLargeOrInvalid", limitTable},
		{"ErrorTextFits", limitError},
		{"LargestContent", limitContent},
		{"CancelledContext", limitContext},
		{"CancelledMeanwhile", limitMeanwhile},
	}
}

func limitTable(f *fixture) {
	key := f.key()
	f.create(key)
	turn := f.start(f.key())
	accept := func(set func(r *store.AcceptRequest)) func() error {
		return func() error {
			r := f.message(key)
			set(r)
			_, err := f.Accept(f.ctx, r)
			return err
		}
	}
	create := func(set func(s *models.Session)) func() error {
		return func() error {
			s := f.newSession(f.key())
			set(s)
			return f.CreateSession(f.ctx, s)
		}
	}
	say := func(set func(m *models.SessionMessage)) func() error {
		return func() error {
			m := f.said(models.RoleUser, "text")
			set(m)
			return f.AppendMessages(f.ctx, key, []*models.SessionMessage{m})
		}
	}
	push := func(set func(d *models.Delivery)) func() error {
		return func() error {
			d := f.delivery("oc_1", "text")
			set(d)
			_, err := f.Enqueue(f.ctx, []*models.Delivery{d}, store.Once{}, nil)
			return err
		}
	}
	id := strings.Repeat("i", models.MaxForeignID+1)
	for _, c := range []struct {
		what string
		do   func() error
		want error
	}{
		{"long session key", accept(func(r *store.AcceptRequest) { r.Inbound.SessionKey = strings.Repeat("k", models.MaxKey+1) }), store.ErrTooLarge},
		{"long platform id", accept(func(r *store.AcceptRequest) { r.Inbound.PlatformMessageID = id }), store.ErrTooLarge},
		{"long sender", accept(func(r *store.AcceptRequest) { r.Inbound.SenderID = id }), store.ErrTooLarge},
		{"long slot", accept(func(r *store.AcceptRequest) { r.Inbound.Slot = strings.Repeat("s", models.MaxName+1) }), store.ErrTooLarge},
		{"long account", accept(func(r *store.AcceptRequest) { r.Inbound.Account = strings.Repeat("a", models.MaxName+1) }), store.ErrTooLarge},
		{"long alias", accept(func(r *store.AcceptRequest) {
			r.Aliases = []store.ThreadAlias{{Channel: "feishu", Account: "main", Alias: id, Thread: "t"}}
		}), store.ErrTooLarge},
		{"empty session key", accept(func(r *store.AcceptRequest) { r.Inbound.SessionKey = "" }), store.ErrInvalid},
		{"empty id", accept(func(r *store.AcceptRequest) { r.Inbound.ID = "" }), store.ErrInvalid},
		{"empty deduplication key", accept(func(r *store.AcceptRequest) { r.DedupKeys = []string{""} }), store.ErrInvalid},
		{"invalid session key", accept(func(r *store.AcceptRequest) { r.Inbound.SessionKey = "a\xc3" }), store.ErrInvalid},
		{"NUL in a sender", accept(func(r *store.AcceptRequest) { r.Inbound.SenderID = "a\x00b" }), store.ErrInvalid},
		{"NUL in a platform id", accept(func(r *store.AcceptRequest) { r.Inbound.PlatformMessageID = "\x00" }), store.ErrInvalid},
		{"long title", create(func(s *models.Session) { s.Title = strings.Repeat("t", models.MaxTitle+1) }), store.ErrTooLarge},
		{"long key", create(func(s *models.Session) { s.Key = strings.Repeat("k", models.MaxKey+1) }), store.ErrTooLarge},
		{"empty key", create(func(s *models.Session) { s.Key = "" }), store.ErrInvalid},
		{"surrogate in a title", create(func(s *models.Session) { s.Title = "\xed\xa0\x80" }), store.ErrInvalid},
		{"NUL in a prompt", create(func(s *models.Session) { s.SystemPrompt = "a\x00" }), store.ErrInvalid},
		{"long content", say(func(m *models.SessionMessage) { m.Content = strings.Repeat("c", models.MaxContent+1) }), store.ErrTooLarge},
		{"invalid content", say(func(m *models.SessionMessage) { m.Content = "cut \xf0\x9f\x98" }), store.ErrInvalid},
		{"NUL in content", say(func(m *models.SessionMessage) { m.Content = "a\x00b" }), store.ErrInvalid},
		{"invalid arguments", say(func(m *models.SessionMessage) {
			m.ToolCalls = []models.ToolCall{{ID: "a", Name: "b", Arguments: "\xff"}}
		}), store.ErrInvalid},
		{"long message sender", say(func(m *models.SessionMessage) { m.SenderID = id }), store.ErrTooLarge},
		{"empty message id", say(func(m *models.SessionMessage) { m.ID = "" }), store.ErrInvalid},
		{"long text", push(func(d *models.Delivery) { d.Text = strings.Repeat("c", models.MaxContent+1) }), store.ErrTooLarge},
		{"long chat", push(func(d *models.Delivery) { d.Target.ChatID = id }), store.ErrTooLarge},
		{"invalid text", push(func(d *models.Delivery) { d.Text = "\xff" }), store.ErrInvalid},
		{"empty delivery id", push(func(d *models.Delivery) { d.ID = "" }), store.ErrInvalid},
		{"no target", push(func(d *models.Delivery) { d.Target = models.Target{} }), store.ErrInvalid},
		{"invalid answer", func() error {
			_, err := f.CommitTurn(f.ctx, f.answer(turn, "\xff"))
			return err
		}, store.ErrInvalid},
		{"long slot name", func() error {
			return f.ChangeSession(f.ctx, key, func(tx store.SessionTx) error { return tx.CreateSlot(f.newSlot(strings.Repeat("s", models.MaxName+1))) })
		}, store.ErrTooLarge},
		{"empty slot name", func() error {
			return f.ChangeSession(f.ctx, key, func(tx store.SessionTx) error { return tx.CreateSlot(f.newSlot("")) })
		}, store.ErrInvalid},
		{"too many ids", func() error {
			_, err := f.InboundBatch(f.ctx, numbered("inb", 1001))
			return err
		}, store.ErrTooLarge},
	} {
		f.Log(c.what)
		f.fails(c.do(), c.want)
	}
	equal(f, "history", len(f.history(key, models.DefaultSlot)), 0)
	equal(f, "deliveries", len(f.deliveries("")), 0)
	f.noLane()
	f.commit(f.answer(turn, "valid"))
}

// An outcome is stored whatever its text looks like: a lane must not hang on it.
func limitError(f *fixture) {
	for _, text := range []string{strings.Repeat("e", models.MaxError), strings.Repeat("错", models.MaxError), "provider said \xff\x00"} {
		key := f.key()
		turn := f.start(key)
		f.commit(f.answer(turn, "", failing, func(c *store.TurnCommit) { c.Outcome.Error = text }))
		got := f.inbound(turn.Inbounds[0].ID)
		equal(f, "state", got.State, models.InboundFailed)
		if len(got.Error) > models.MaxError || got.Error == "" || !strings.HasPrefix(text, got.Error[:1]) {
			f.Fatalf("error text is %q", got.Error)
		}
		f.enqueue(f.delivery("oc_1", "text"))
		c := f.claimTarget(claim())
		d := f.next(c)
		_, err := f.FinishDelivery(f.ctx, c, store.DeliveryResult{ID: d.ID, State: models.DeliveryFailed, Error: text, CountAttempt: true, Now: f.now})
		f.ok(err)
	}
}

func limitContent(f *fixture) {
	largest := strings.Repeat("'", models.MaxContent) // a quote is doubled on its way
	key := f.key()
	f.create(key, largest)
	if got := f.history(key, models.DefaultSlot); len(got) != 1 || got[0] != largest {
		f.Fatalf("the largest content came back otherwise")
	}
}

func limitContext(f *fixture) {
	key := f.key()
	f.create(key, "before")
	ctx, cancel := cancelled(f)
	defer cancel()
	if err := f.AppendMessages(ctx, key, []*models.SessionMessage{f.said(models.RoleUser, "lost")}); err == nil {
		f.Fatalf("wrote for a caller who is gone")
	}
	if _, err := f.Accept(ctx, f.message(key)); err == nil {
		f.Fatalf("accepted for a caller who is gone")
	}
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"before"})
	f.noLane()
}

// A caller who goes away in the middle leaves all or nothing, and a store that works.
func limitMeanwhile(f *fixture) {
	const rounds = 40
	key := f.key()
	f.create(key)
	stored := 0
	for i := range rounds {
		ctx, cancel := context.WithCancel(f.ctx)
		done := make(chan error, 1)
		go func() {
			pair := []*models.SessionMessage{f.said(models.RoleUser, "question"), f.said(models.RoleAssistant, "answer")}
			done <- f.AppendMessages(ctx, key, pair)
		}()
		f.ok(clock.Sleep(f.ctx, clock.Real(), time.Duration(i)*50*time.Microsecond))
		cancel()
		if err := <-done; err == nil {
			stored++
		}
		if _, err := f.Session(f.ctx, key); err != nil {
			f.Fatalf("read after a cancelled write: %v", err)
		}
	}
	got := f.history(key, models.DefaultSlot)
	if len(got) < 2*stored || len(got) > 2*rounds || len(got)%2 != 0 {
		f.Fatalf("%d messages of %d pairs that were stored", len(got), stored)
	}
	equal(f, "message count", f.session(key).MessageCount, len(got))
}
