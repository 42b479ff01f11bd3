package feishu

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/adapters/adaptertest"
	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
	"github.com/chatkeep/chatkeep/models"
)

func (r *rig) event(kind adapters.EventKind) *adapters.Event {
	r.t.Helper()
	var got *adapters.Event
	r.until("the event "+string(kind), func() bool {
		for _, e := range r.sink.Events() {
			if e.Kind == kind {
				got = e
			}
		}
		return got != nil
	})
	if got.ID == "" || got.At.IsZero() {
		r.t.Errorf("%s: id %q, at %v", kind, got.ID, got.At)
	}
	return got
}

func TestEvents(t *testing.T) {
	for _, mode := range []Mode{ModeWebsocket, ModeWebhook} {
		t.Run(string(mode), func(t *testing.T) {
			r := startRig(t, rigOptions{config: func(c *Config) { c.Mode = mode }})
			m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hello"})

			r.platform.Recall(m.ID)
			if e := r.event(adapters.Recalled); e.MessageID != m.ID || e.Chat.ID != "oc_1" {
				t.Errorf("recalled: %+v", e)
			}
			r.platform.React(m.ID, "ou_person", "THUMBSUP")
			if e := r.event(adapters.Reacted); e.MessageID != m.ID || e.Value != "THUMBSUP" || e.Sender.ID != "ou_person" {
				t.Errorf("reacted: %+v", e)
			}
			r.platform.AddBot("oc_g", "Friends", "ou_person")
			if e := r.event(adapters.BotAdded); e.Chat.ID != "oc_g" || e.Chat.Name != "Friends" || e.Chat.Type != adapters.Group || e.Sender.ID != "ou_person" {
				t.Errorf("added: %+v", e)
			}
			r.platform.RemoveBot("oc_g", "ou_person")
			if e := r.event(adapters.BotRemoved); e.Chat.ID != "oc_g" {
				t.Errorf("removed: %+v", e)
			}
			r.platform.Disband("oc_g", "ou_person")
			if e := r.event(adapters.ChatGone); e.Chat.ID != "oc_g" {
				t.Errorf("disbanded: %+v", e)
			}
			r.platform.Enter("oc_1", "ou_person")
			if e := r.event(adapters.ChatEntered); e.Chat.ID != "oc_1" || e.Chat.Type != adapters.Direct {
				t.Errorf("entered: %+v", e)
			}
			n := len(r.sink.Events())
			for _, ignored := range ignoredEvents {
				r.platform.Push(ignored, map[string]any{})
			}
			r.platform.Push("im.message.reaction.created_v1", map[string]any{"message_id": m.ID, "operator_type": "app", "app_id": "cli_x"})
			r.until("all is acknowledged", func() bool { return r.platform.Unacknowledged() == 0 })
			if got := len(r.sink.Events()); got != n {
				t.Errorf("%d events too many", got-n)
			}
		})
	}
}

func TestEventThatIsNotStoredComesAgain(t *testing.T) {
	r := startRig(t, rigOptions{platform: feishutest.Options{Redeliver: []time.Duration{time.Millisecond}}})
	r.sink.FailWith(errors.New("the database is away"))
	r.platform.Recall("om_1")
	r.event(adapters.Recalled)
	r.sink.FailWith(nil)
	r.until("it is acknowledged", func() bool { return r.platform.Unacknowledged() == 0 })
	events := r.sink.Events()
	if events[0].ID != events[len(events)-1].ID {
		t.Error("the event's id changed")
	}
}

// streaming returns the preview of a card that is visible.
func (r *rig) streaming(m *adapters.Message) *models.Preview {
	r.t.Helper()
	p := &models.Preview{ID: "pre_" + m.ID, InboundID: "inb_" + m.ID, Target: adaptertest.Target(m)}
	if err := r.adapter.OpenPreview(r.t.Context(), p); err != nil {
		r.t.Fatal(err)
	}
	p.Shown = true
	if err := r.adapter.ShowPreview(r.t.Context(), p); err != nil {
		r.t.Fatal(err)
	}
	return p
}

func TestStopButton(t *testing.T) {
	for _, mode := range []Mode{ModeWebsocket, ModeWebhook} {
		t.Run(string(mode), func(t *testing.T) {
			r := startRig(t, rigOptions{config: func(c *Config) { c.Mode = mode }})
			m := r.said(feishutest.Said{ChatID: "oc_1", Text: "tell me a story"})
			p := r.streaming(m)
			card := r.platform.FromBot()[0]
			if len(card.Buttons) != 1 || !card.Streaming {
				t.Fatalf("card: %+v", card)
			}
			toast, err := r.platform.Press(card.ID, "ou_person", "Stop")
			if err != nil || toast.Type != "info" {
				t.Fatalf("toast %+v, %v", toast, err)
			}
			e := r.event(adapters.ActionStop)
			if e.InboundID != p.InboundID || e.Sender.ID != "ou_person" || e.Chat.ID != "oc_1" || e.MessageID != card.ID {
				t.Errorf("stop: %+v", e)
			}
			r.sink.FailWith(errors.New("the database is away"))
			if toast, err := r.platform.Press(card.ID, "ou_person", "Stop"); err != nil || toast.Type != "error" {
				t.Errorf("toast %+v, %v", toast, err)
			}
		})
	}
}

// A message may have buttons; what is pressed is reported.
func TestButtonsBelowAMessage(t *testing.T) {
	r := startRig(t, rigOptions{})
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "delete it"})
	d := adaptertest.Delivery(m, "dlv_1", "May I?")
	d.Buttons = []models.Button{{Label: "Approve", Value: "approve:AB12", Primary: true}, {Label: "Deny", Value: "deny:AB12"}}
	if _, err := r.send(d); err != nil {
		t.Fatal(err)
	}
	sent := r.platform.FromBot()[0]
	if len(sent.Buttons) != 2 || !strings.Contains(sent.Text, "May I?") {
		t.Fatalf("sent %+v", sent)
	}
	for label, want := range map[string]string{"Approve": "approve:AB12", "Deny": "deny:AB12"} {
		if toast, err := r.platform.Press(sent.ID, "ou_person", label); err != nil || toast.Type != "info" {
			t.Fatalf("toast %+v, %v", toast, err)
		}
		if e := r.event(adapters.ActionButton); e.Value != want || e.Sender.ID != "ou_person" || e.MessageID != sent.ID || e.ID == "" {
			t.Errorf("pressed %+v", e)
		}
	}
}

func TestOtherButtons(t *testing.T) {
	r := startRig(t, rigOptions{config: func(c *Config) { c.Mode = ModeWebhook }})
	for i, value := range []any{map[string]any{"chatkeep": "approve AB12"}, `{"chatkeep":"approve AB12"}`} {
		status, answer, err := r.platform.Post(r.platform.Envelope("card.action.trigger", "ev_"+string(rune('a'+i)), map[string]any{
			"operator": map[string]any{"open_id": "ou_1"}, "token": "c-1",
			"action":  map[string]any{"value": value, "tag": "button"},
			"context": map[string]any{"open_message_id": "om_1", "open_chat_id": "oc_1"},
		}))
		if err != nil || status != http.StatusOK || !strings.Contains(string(answer), "toast") {
			t.Errorf("%d %s %v", status, answer, err)
		}
		if e := r.event(adapters.ActionButton); e.Value != "approve AB12" {
			t.Errorf("value %q", e.Value)
		}
	}
}

func TestQuotaNotice(t *testing.T) {
	r := startRig(t, rigOptions{})
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	r.platform.Inject(feishutest.Fault{Match: "/reply", Code: 99991403, Msg: "quota", Times: -1})
	for i := range 3 {
		_, err := r.send(adaptertest.Delivery(m, "dlv_"+string(rune('a'+i)), "hello"))
		if e := adapters.SendErrorOf(err); e.Kind != adapters.Unavailable {
			t.Errorf("kind %q", e.Kind)
		}
	}
	r.event(adapters.QuotaNotice)
	if calls := r.platform.Calls("/reply"); len(calls) != 1 {
		t.Errorf("%d calls after the quota was used up, want 1", len(calls))
	}
	if n := len(r.sink.Events()); n != 1 {
		t.Errorf("%d notices", n)
	}
}
