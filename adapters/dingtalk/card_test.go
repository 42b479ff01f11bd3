package dingtalk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/adapters/dingtalk/dingtalktest"
	"github.com/chatkeep/chatkeep/models"
)

func withCards() setup { return setup{config: Config{CardTemplateID: "tpl.schema"}} }

func previewOf(m *adapters.Message) *models.Preview {
	return &models.Preview{ID: "inb_" + m.ID, InboundID: "inb_" + m.ID, Channel: Channel, Account: "main", Target: replyTo(m, "").Target}
}

// opened returns a card that is shown.
func (b *bench) opened(m *adapters.Message) *models.Preview {
	b.t.Helper()
	p := previewOf(m)
	if err := b.adapter.OpenPreview(b.t.Context(), p); err != nil {
		b.t.Fatal(err)
	}
	if err := b.adapter.ShowPreview(b.t.Context(), p); err != nil {
		b.t.Fatal(err)
	}
	return p
}

func TestCardGrowsAndIsFinished(t *testing.T) {
	b := newBench(t, withCards())
	b.run()
	for _, m := range []*adapters.Message{b.inGroup(), b.directly()} {
		p := b.opened(m)
		if got := b.last(m.Chat.ID); got.Card != "processing" || got.Text == "" {
			t.Errorf("shown: %+v", got)
		}
		if err := b.adapter.UpdatePreview(t.Context(), p, "one\n```go\nx"); err != nil {
			t.Fatal(err)
		}
		if got := b.last(m.Chat.ID); got.Card != "typing" || got.Text != "one\n```go\nx\n```" {
			t.Errorf("growing: %+v", got)
		}
		sent, err := b.adapter.FinishPreview(t.Context(), p, replyTo(m, "@emp7 one  \ntwo"))
		if err != nil || sent.PlatformMessageID == "" {
			t.Fatalf("%+v, %v", sent, err)
		}
		if got := b.last(m.Chat.ID); got.Card != "done" || got.Text != "one<br>\ntwo" {
			t.Errorf("finished: %+v", got)
		}
	}
	if n := len(b.platform.Shown()); n != 2 {
		t.Errorf("%d messages are shown, want 2", n)
	}
}

func TestCardIsTheSameOnEveryAttempt(t *testing.T) {
	b := newBench(t, withCards())
	b.run()
	m := b.inGroup()
	p := previewOf(m)
	if err := b.adapter.OpenPreview(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	b.platform.Fail(dingtalktest.OpCardCreate, dingtalktest.Fault{Apply: true, Drop: true})
	if err := b.adapter.ShowPreview(t.Context(), p); kindOfErr(err) != adapters.Unknown {
		t.Fatalf("lost answer: %v", err)
	}
	again := b.opened(m) // after a crash, from the same row
	if !bytes.Equal(again.State, p.State) {
		t.Errorf("state %s, then %s", p.State, again.State)
	}
	d := replyTo(m, "the end")
	b.platform.Fail(dingtalktest.OpCardStream, dingtalktest.Fault{Apply: true, Status: 502, Body: "x"})
	if _, err := b.adapter.FinishPreview(t.Context(), again, d); err != nil {
		t.Errorf("an unclear end is not repeated: %v", err)
	}
	if n := len(b.platform.Shown()); n != 1 {
		t.Errorf("%d cards are shown, want 1", n)
	}
	if got := b.last("cidGroup=="); got.Card != "done" || got.Text != "the end" {
		t.Errorf("%+v", got)
	}
}

func TestCardUpdatesArePaced(t *testing.T) {
	s := withCards()
	s.fake = true
	s.config.Timing = Timing{Ping: time.Hour, ReconnectMin: time.Millisecond}
	s.platform.CardsPerSecond = 20
	b := newBench(t, s)
	b.run()
	m := b.inGroup()
	p := b.opened(m)
	for i := range 200 {
		b.clock.Advance(10 * time.Millisecond)
		if err := b.adapter.UpdatePreview(t.Context(), p, fmt.Sprintf("text %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(b.platform.Journal(dingtalktest.OpCardStream)); n != 2 {
		t.Errorf("%d updates within two seconds, want 2", n)
	}
	b.clock.Advance(time.Second)
	if err := b.adapter.UpdatePreview(t.Context(), p, "text 100"); err != nil {
		t.Fatal(err)
	}
	if err := b.adapter.UpdatePreview(t.Context(), p, "text 100"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.adapter.FinishPreview(t.Context(), p, replyTo(m, "last")); err != nil {
		t.Fatal(err)
	}
	if got := b.last(m.Chat.ID); got.Text != "last" || got.Card != "done" {
		t.Errorf("%+v", got)
	}
}

func TestManyCardsShareTheRate(t *testing.T) {
	s := withCards()
	s.fake = true
	b := newBench(t, s)
	b.run()
	m := b.inGroup()
	var cards []*models.Preview
	for i := range 40 {
		p := previewOf(m)
		p.InboundID, p.ID = fmt.Sprintf("inb_%d", i), fmt.Sprintf("inb_%d", i)
		if err := b.adapter.OpenPreview(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		cards = append(cards, p)
	}
	admitted := 0
	for i, p := range cards {
		var s cardState
		if err := json.Unmarshal(p.State, &s); err != nil {
			t.Fatal(err)
		}
		if b.adapter.cards.admit(s.OutTrackID, fmt.Sprint(i)) {
			admitted++
		}
	}
	if admitted != updatesPerSecond {
		t.Errorf("%d cards were updated at once, want %d", admitted, updatesPerSecond)
	}
}

func TestUpdateThatCameTooFastIsSkipped(t *testing.T) {
	s := withCards()
	s.fake = true
	b := newBench(t, s)
	b.run()
	p := b.opened(b.inGroup())
	b.platform.Fail(dingtalktest.OpCardStream, dingtalktest.Refusal(403, "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi"))
	update := func(text string) {
		t.Helper()
		if err := b.adapter.UpdatePreview(t.Context(), p, text); err != nil {
			t.Fatal(err)
		}
	}
	update("one")
	b.clock.Advance(pauseAfterLimit - time.Millisecond)
	update("two")
	if n := len(b.platform.Journal(dingtalktest.OpCardStream)); n != 1 {
		t.Errorf("%d calls during the pause, want 1", n)
	}
	b.clock.Advance(time.Millisecond)
	update("three")
	if got := b.last("cidGroup=="); got.Text != "three" {
		t.Errorf("%+v", got)
	}
}

func TestFinalUpdateIsNotSkipped(t *testing.T) {
	b := newBench(t, withCards())
	b.run()
	m := b.inGroup()
	p := b.opened(m)
	b.platform.Fail(dingtalktest.OpCardStream, dingtalktest.Refusal(403, "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi"))
	if _, err := b.adapter.FinishPreview(t.Context(), p, replyTo(m, "final")); err != nil {
		t.Fatal(err)
	}
	if got := b.last(m.Chat.ID); got.Card != "done" || got.Text != "final" {
		t.Errorf("%+v", got)
	}
}

func TestCardThatCannotHoldTheText(t *testing.T) {
	long := strings.Repeat("汉字", 2000)
	for _, c := range []struct {
		name, text string
		fault      *dingtalktest.Fault
		card, want string
	}{
		{"too long", long, nil, "done", "汉字汉字"},
		{"refused content", "bad", new(dingtalktest.Refusal(400, "param.stream.content")), "failed", beginning},
		{"not successful", "text", new(dingtalktest.Fault{Body: `{"success":false}`}), "failed", beginning},
		{"no permission", "text", new(dingtalktest.Refusal(403, "Forbidden.AccessDenied.AccessTokenPermissionDenied")), "failed", beginning},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, withCards())
			b.run()
			m := b.inGroup()
			p := b.opened(m)
			if c.fault != nil {
				b.platform.Fail(dingtalktest.OpCardStream, *c.fault)
			}
			_, err := b.adapter.FinishPreview(t.Context(), p, replyTo(m, c.text))
			if kindOfErr(err) != adapters.Gone {
				t.Errorf("kind %q: %v", kindOfErr(err), err)
			}
			if got := b.last(m.Chat.ID); got.Card != c.card || !strings.HasPrefix(got.Text, c.want) {
				t.Errorf("card %q shows %.40q", got.Card, got.Text)
			}
		})
	}
}

func TestUnclearEndOfACard(t *testing.T) {
	for name, c := range map[string]struct {
		fault dingtalktest.Fault
		want  adapters.SendErrorKind
	}{
		"the platform cannot":   {dingtalktest.Refusal(500, "system.error"), adapters.Gone},
		"nobody answers":        {dingtalktest.Fault{Drop: true}, adapters.Retry},
		"too fast all the time": {dingtalktest.Refusal(403, "Forbidden.AccessDenied.QpsLimitForApi"), adapters.RateLimited},
	} {
		b := newBench(t, withCards())
		b.adapter.cards.waits = []time.Duration{time.Millisecond}
		b.run()
		m := b.inGroup()
		p := b.opened(m)
		b.platform.Fail(dingtalktest.OpCardStream, c.fault, c.fault)
		if _, err := b.adapter.FinishPreview(t.Context(), p, replyTo(m, "text")); kindOfErr(err) != c.want {
			t.Errorf("%s: kind %q, want %q (%v)", name, kindOfErr(err), c.want, err)
		}
		if _, err := b.adapter.FinishPreview(t.Context(), p, replyTo(m, "text")); err != nil {
			t.Errorf("%s: a later attempt: %v", name, err)
		}
	}
}

func TestCardThatWasNeverShown(t *testing.T) {
	b := newBench(t, withCards())
	b.run()
	m := b.inGroup()
	p := previewOf(m)
	if err := b.adapter.OpenPreview(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if _, err := b.adapter.FinishPreview(t.Context(), p, replyTo(m, "text")); kindOfErr(err) != adapters.Gone {
		t.Errorf("%v", err)
	}
	p.State = nil
	if _, err := b.adapter.FinishPreview(t.Context(), p, replyTo(m, "text")); kindOfErr(err) != adapters.Gone {
		t.Errorf("without state: %v", err)
	}
}

func TestCardIsClosedWithWhatItShows(t *testing.T) {
	b := newBench(t, withCards())
	b.run()
	m := b.inGroup()
	p := b.opened(m)
	if err := b.adapter.UpdatePreview(t.Context(), p, "so far"); err != nil {
		t.Fatal(err)
	}
	d := replyTo(m, "")
	d.Kind = models.DeliveryPreview
	if _, err := b.adapter.FinishPreview(t.Context(), p, d); err != nil {
		t.Fatal(err)
	}
	if got := b.last(m.Chat.ID); got.Card != "done" || got.Text != "so far" {
		t.Errorf("%+v", got)
	}
}

func TestNoCardWithoutTemplateOrStaffID(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	if b.adapter.Traits().Streams || testAdapter(t, Config{CardTemplateID: "x", NoStreaming: true}).Traits().Streams {
		t.Error("streams without a template or though turned off")
	}
	if err := b.adapter.OpenPreview(t.Context(), previewOf(b.inGroup())); err == nil {
		t.Error("a card without a template")
	}
	c := newBench(t, withCards())
	c.run()
	c.platform.AddUser("guest", dingtalktest.User{SenderID: "$:LWCP_v1:$guest"})
	m := c.received(dingtalktest.Inbound{Chat: "cidGuest==", User: "guest", Text: "hi"})
	if err := c.adapter.OpenPreview(t.Context(), previewOf(m)); kindOfErr(err) != adapters.Refused {
		t.Errorf("without a staff id: %v", err)
	}
}

func TestCardNotDelivered(t *testing.T) {
	b := newBench(t, withCards())
	b.run()
	p := previewOf(b.inGroup())
	p.Target.Ref = ref{ConversationID: "cidUnknown==", ConversationType: typeGroup}.encode()
	if err := b.adapter.OpenPreview(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if err := b.adapter.ShowPreview(t.Context(), p); kindOfErr(err) != adapters.Refused {
		t.Errorf("a 200 that says not delivered: %v", err)
	}
}

func TestCardClicks(t *testing.T) {
	b := newBench(t, withCards())
	b.run()
	id := outTrackID(&models.Preview{ID: "inb_1", InboundID: "inb_1", Account: "main"})
	click := func(content string) {
		data, _ := json.Marshal(map[string]string{"outTrackId": id, "userId": "emp7", "spaceId": "cidGroup==", "content": content})
		b.platform.Callback(topicCard, data)
	}
	click(`{"cardPrivateData":{"actionIds":["stop"],"params":{}}}`)
	click(`{"cardPrivateData":{"actionIds":["approve"],"params":{"value":"CODE1"}}}`)
	b.platform.Callback(topicCard, []byte(`garbage`))
	b.until("all are answered", func() bool { return len(b.platform.Acks(topicCard)) == 3 })
	events := map[adapters.EventKind]*adapters.Event{}
	for _, e := range b.sink.events {
		events[e.Kind] = e
	}
	stop, button := events[adapters.ActionStop], events[adapters.ActionButton]
	if stop == nil || stop.InboundID != "inb_1" || stop.Sender.ID != "emp7" || stop.Chat.ID != "cidGroup==" {
		t.Errorf("stop: %+v", stop)
	}
	if button == nil || button.Value != "CODE1" || button.InboundID != "inb_1" {
		t.Errorf("button: %+v", button)
	}
}

func TestWorkingSign(t *testing.T) {
	s := setup{config: Config{WorkingSign: true}}
	b := newBench(t, s)
	b.run()
	m := b.inGroup()
	sign, err := b.adapter.ShowWorking(t.Context(), m)
	if err != nil || sign == "" {
		t.Fatalf("%q, %v", sign, err)
	}
	emotions := func() []string { return b.platform.Messages(m.Chat.ID)[0].Emotions }
	if got := emotions(); len(got) != 1 || got[0] != sign {
		t.Errorf("emotions %q", got)
	}
	b.platform.Fail(dingtalktest.OpEmotionRecall, dingtalktest.Refusal(500, "system.error"))
	if err := b.adapter.HideWorking(t.Context(), m, sign); err != nil {
		t.Fatal(err)
	}
	if got := emotions(); len(got) != 0 {
		t.Errorf("emotions %q", got)
	}
	if err := b.adapter.HideWorking(t.Context(), m, ""); err != nil {
		t.Error(err)
	}
}

func TestWorkingSignRestsWhereItDoesNotWork(t *testing.T) {
	b := newBench(t, setup{config: Config{WorkingSign: true}})
	failure := errors.New("500")
	for range failuresBeforeRest {
		if b.adapter.signs.resting() {
			t.Error("rests too early")
		}
		b.adapter.signs.note(failure)
	}
	if sign, err := b.adapter.ShowWorking(t.Context(), &adapters.Message{ID: "m"}); sign != "" || err != nil {
		t.Errorf("%q, %v", sign, err)
	}
	if n := len(b.platform.Journal(dingtalktest.OpEmotion)); n != 0 {
		t.Errorf("%d calls", n)
	}
}
