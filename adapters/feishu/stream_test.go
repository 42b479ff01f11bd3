package feishu

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/adapters/adaptertest"
	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
)

// streamRig is a rig whose time only moves when told to, so that updates are not paced away.
func streamRig(t *testing.T) (*rig, *clock.Fake) {
	t.Helper()
	fake := clock.NewFake(time.Unix(1_800_000_000, 0))
	return startRig(t, rigOptions{clock: fake}), fake
}

func (r *rig) update(p *models.Preview, text string) {
	r.t.Helper()
	if err := r.adapter.UpdatePreview(r.t.Context(), p, text); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) finish(p *models.Preview, m *adapters.Message, text string) (adapters.Sent, error) {
	d := adaptertest.Delivery(m, "dlv_1", text)
	d.Preview = p.ID
	return r.adapter.FinishPreview(r.t.Context(), p, d)
}

func sequences(t *testing.T, r *rig) []int {
	t.Helper()
	var out []int
	for _, call := range r.platform.Calls("/cardkit/v1/cards/") {
		n := fields[struct{ Sequence int }]([]byte(call.Body)).Sequence
		if len(out) > 0 && n <= out[len(out)-1] {
			t.Errorf("sequence %d after %v", n, out)
		}
		out = append(out, n)
	}
	return out
}

func TestStreaming(t *testing.T) {
	r, fake := streamRig(t)
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	p := &models.Preview{ID: "pre_1", InboundID: "inb_1", Target: adaptertest.Target(m)}
	if err := r.adapter.OpenPreview(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if len(r.platform.FromBot()) != 0 || len(p.State) == 0 {
		t.Fatal("an opened preview is invisible and has a state")
	}
	p.Shown = true
	for range 2 {
		if err := r.adapter.ShowPreview(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	card := r.platform.FromBot()[0]
	if len(r.platform.FromBot()) != 1 || card.ReplyTo != m.ID || !card.Streaming || len(card.Buttons) != 1 {
		t.Fatalf("%+v", card)
	}
	text := ""
	for i := range 20 {
		text += fmt.Sprintf("word%d ", i)
		fake.Advance(100 * time.Millisecond)
		r.update(p, text)
	}
	if n := r.platform.CardChanges(card.ID); n == 0 || n > 6 {
		t.Errorf("%d updates in 2 s", n)
	}
	fake.Advance(time.Second)
	sent, err := r.finish(p, m, "the **end**")
	if err != nil || sent.PlatformMessageID != card.ID {
		t.Fatal(sent, err)
	}
	card = r.view(card.ID)
	if card.Text != "the **end**" || card.Streaming || len(card.Buttons) != 0 {
		t.Errorf("finished: %+v", card)
	}
	sequences(t, r)
	if len(r.platform.FromBot()) != 1 {
		t.Error("more than one message")
	}
}

func TestStreamingGoesOnAfterARestart(t *testing.T) {
	r, fake := streamRig(t)
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	p := r.streaming(m)
	stored := *p
	stored.State = append([]byte(nil), p.State...)
	for i := range 40 { // fewer than are stored: the state falls behind
		fake.Advance(time.Second)
		r.update(p, fmt.Sprintf("text %d", i))
	}
	r.adapter.previews.Purge() // another process
	fake.Advance(time.Second)
	r.update(&stored, "after the restart")
	if text := r.platform.FromBot()[0].Text; text != "after the restart" {
		t.Errorf("text %q", text)
	}
	if _, err := r.finish(&stored, m, "end"); err != nil {
		t.Fatal(err)
	}
	sequences(t, r)
}

func TestSequenceIsStoredNowAndThen(t *testing.T) {
	r, fake := streamRig(t)
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	p := r.streaming(m)
	changes, last := 0, string(p.State)
	for i := range 120 {
		fake.Advance(time.Second)
		r.update(p, fmt.Sprintf("text %d", i))
		if string(p.State) != last {
			changes, last = changes+1, string(p.State)
		}
	}
	var state previewState
	if err := json.Unmarshal(p.State, &state); err != nil {
		t.Fatal(err)
	}
	if changes == 0 || changes > 3 || 120-state.Sequence >= sequenceJump {
		t.Errorf("%d changes of the state, sequence %d", changes, state.Sequence)
	}
}

func TestStreamingLongerThanTenMinutes(t *testing.T) {
	r, fake := streamRig(t)
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	p := r.streaming(m)
	for i := range 25 {
		fake.Advance(time.Minute)
		r.update(p, fmt.Sprintf("minute %d", i))
		if text := r.platform.FromBot()[0].Text; text != fmt.Sprintf("minute %d", i) {
			t.Fatalf("minute %d: text %q", i, text)
		}
	}
	fake.Advance(30 * time.Minute) // silence: the platform closed it
	r.update(p, "late")
	if text := r.platform.FromBot()[0].Text; text != "late" {
		t.Errorf("text %q", text)
	}
	fake.Advance(30 * time.Minute)
	if _, err := r.finish(p, m, "end"); err != nil {
		t.Fatal(err)
	}
	if v := r.platform.FromBot()[0]; v.Text != "end" || v.Streaming {
		t.Errorf("%+v", v)
	}
	sequences(t, r)
}

func TestStreamFaults(t *testing.T) {
	r, fake := streamRig(t)
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	p := r.streaming(m)
	step := func(text string) {
		fake.Advance(time.Minute / 10)
		r.update(p, text)
	}
	r.platform.Inject(feishutest.Fault{Match: "/content", Code: 300317})
	step("one")
	if text := r.platform.FromBot()[0].Text; text != "one" {
		t.Errorf("after 300317: %q", text)
	}
	r.platform.Inject(feishutest.Fault{Match: "/content", Code: 200850})
	step("two")
	if text := r.platform.FromBot()[0].Text; text != "two" {
		t.Errorf("after 200850: %q", text)
	}
	r.platform.Inject(feishutest.Fault{Match: "/content", Code: 99991400, Status: 429, Header: map[string]string{"x-ogw-ratelimit-reset": "30"}})
	step("three")
	step("four")
	if text := r.platform.FromBot()[0].Text; text != "two" {
		t.Errorf("while rate limited: %q", text)
	}
	fake.Advance(30 * time.Second)
	step("five")
	if text := r.platform.FromBot()[0].Text; text != "five" {
		t.Errorf("after the limit: %q", text)
	}
	r.platform.Inject(feishutest.Fault{Match: "PUT /open-apis/cardkit/v1/cards", Code: 300317})
	if _, err := r.finish(p, m, "end"); err != nil {
		t.Fatal(err)
	}
	if v := r.platform.FromBot()[0]; v.Text != "end" {
		t.Errorf("finished: %+v", v)
	}
}

func TestFinishErrors(t *testing.T) {
	for name, c := range map[string]struct {
		fault feishutest.Fault
		want  adapters.SendErrorKind
	}{
		"content refused": {feishutest.Fault{Code: 230099, Msg: "ErrCode: 11310"}, adapters.Gone},
		"unknown refusal": {feishutest.Fault{Code: 987654}, adapters.Gone},
		"sequence":        {feishutest.Fault{Code: 300317, Times: 2}, adapters.Gone},
		"rate":            {feishutest.Fault{Code: 230020}, adapters.RateLimited},
		"lost":            {feishutest.Fault{DropAfter: true}, adapters.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := streamRig(t)
			m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
			p := r.streaming(m)
			c.fault.Match = "PUT /open-apis/cardkit/v1/cards/"
			r.platform.Inject(c.fault)
			_, err := r.finish(p, m, "end")
			if e := adapters.SendErrorOf(err); err == nil || e.Kind != c.want {
				t.Errorf("err = %v, want %s", err, c.want)
			}
			if c.want != adapters.Gone {
				if sent, err := r.finish(p, m, "end"); err != nil || sent.PlatformMessageID == "" {
					t.Errorf("again: %v", err)
				}
				if v := r.platform.FromBot()[0]; v.Text != "end" || v.Streaming || len(v.Buttons) > 0 {
					t.Errorf("%+v", v)
				}
			}
		})
	}
}

func TestFinishWithoutText(t *testing.T) {
	r, fake := streamRig(t)
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	p := r.streaming(m)
	fake.Advance(time.Second)
	r.update(p, "half an ans")
	r.adapter.previews.Purge()
	d := &models.Delivery{ID: "dlv_1", Kind: models.DeliveryPreview, Target: p.Target}
	for range 2 {
		if _, err := r.adapter.FinishPreview(t.Context(), p, d); err != nil {
			t.Fatal(err)
		}
	}
	if v := r.platform.FromBot()[0]; v.Text != "half an ans" || v.Streaming || len(v.Buttons) > 0 {
		t.Errorf("%+v", v)
	}
}

func TestFinishWhatWasNeverShown(t *testing.T) {
	r, _ := streamRig(t)
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	p := &models.Preview{ID: "pre_1", InboundID: "inb_1", Target: adaptertest.Target(m)}
	if err := r.adapter.OpenPreview(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if _, err := r.finish(p, m, "end"); adapters.SendErrorOf(err).Kind != adapters.Gone {
		t.Errorf("err = %v", err)
	}
	if len(r.platform.FromBot()) != 0 {
		t.Error("something is shown")
	}
}

func TestCrashBetweenShowingAndStoring(t *testing.T) {
	r := startRig(t, rigOptions{})
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	p := &models.Preview{ID: "pre_1", InboundID: "inb_1", Target: adaptertest.Target(m)}
	if err := r.adapter.OpenPreview(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	stored := *p
	stored.State = append([]byte(nil), p.State...)
	stored.Shown = true
	if err := r.adapter.ShowPreview(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	r.adapter.previews.Purge()
	sent, err := r.finish(&stored, m, "end")
	if err != nil || sent.PlatformMessageID == "" {
		t.Fatal(err)
	}
	if all := r.platform.FromBot(); len(all) != 1 || all[0].Text != "end" {
		t.Errorf("%+v", all)
	}
}

func TestGrowingTextThatIsTooLong(t *testing.T) {
	r, fake := streamRig(t)
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	p := r.streaming(m)
	fake.Advance(time.Second)
	r.update(p, strings.Repeat("很长的文字。", 5000)+"| a |\n|---|\n")
	if text := r.platform.FromBot()[0].Text; !strings.HasPrefix(text, "很长的文字。") || len(text) > maxContent {
		t.Errorf("%d bytes", len(text))
	}
}

func TestStreamingIsOff(t *testing.T) {
	r := newRig(t, rigOptions{config: func(c *Config) { c.Chat.Streaming = false }})
	t.Cleanup(r.close)
	if r.adapter.Traits().Streams {
		t.Error("the adapter says that it streams")
	}
	p := &models.Preview{ID: "pre_1", Target: models.Target{ChatID: "oc_1"}}
	if err := r.adapter.OpenPreview(t.Context(), p); adapters.SendErrorOf(err).Kind != adapters.Refused {
		t.Errorf("err = %v", err)
	}
}

func TestPreviewWithStrangeState(t *testing.T) {
	r := newRig(t, rigOptions{})
	t.Cleanup(r.close)
	for _, state := range []string{"", "{}", "null", "nonsense"} {
		p := &models.Preview{ID: "pre_" + state, Shown: true, State: []byte(state)}
		if err := r.adapter.UpdatePreview(t.Context(), p, "x"); adapters.SendErrorOf(err).Kind != adapters.Gone {
			t.Errorf("%q: err = %v", state, err)
		}
	}
}
