package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters/dingtalk/dingtalktest"
)

// answeredOnceInOrder checks that the robot answered each text of a chat once, in
// the order they were said.
func (w *dingtalkWorld) answeredOnceInOrder(chat string, texts []string) {
	w.t.Helper()
	var got []string
	for _, m := range w.answers(chat) {
		for _, text := range texts {
			if strings.Contains(m.Text, text) {
				got = append(got, text)
			}
		}
	}
	if !slices.Equal(got, texts) {
		w.t.Errorf("%s: answered %q, want %q", chat, got, texts)
	}
}

func TestDingTalkFiftyRotationsUnderLoadLoseAndDoubleNothing(t *testing.T) {
	w := onDingTalk(t, dingtalktest.Options{RedeliverAfter: 10 * time.Second}) // a slow machine answers on a closed connection
	w.start()
	said := map[string][]string{}
	var ids []string
	for rotation := range 50 {
		for n := range 4 {
			chat := fmt.Sprintf("cidChat%02d==", (4*rotation+n)%chats)
			text := fmt.Sprintf("text %03d.", 4*rotation+n)
			said[chat] = append(said[chat], text)
			ids = append(ids, w.platform.Say(chat, "staff"+chat, text))
			if n == 1 {
				w.platform.Rotate()
			}
		}
		w.until("the robot is connected again", func() bool { return w.platform.Connections() > 0 })
	}
	for _, id := range ids {
		w.acked(id, 1)
	}
	w.settled()
	w.lost()
	for chat, texts := range said {
		w.answeredOnceInOrder(chat, texts)
	}
	if n := len(w.model.Requests()); n != len(ids) {
		t.Errorf("the model was asked %d times for %d messages", n, len(ids))
	}
	if n := w.platform.BadFrames(); n > 0 {
		t.Errorf("%d frames that answer nothing", n)
	}
}

func TestDingTalkReplicasOfOneRobotShareTheLoad(t *testing.T) {
	w := onDingTalk(t, dingtalktest.Options{})
	one, other := openMySQL(t)
	w.store = one
	first := w.start()
	second := w.startOn(other)
	said := map[string][]string{}
	for n := range 60 {
		chat := fmt.Sprintf("cidChat%d==", n%6)
		text := fmt.Sprintf("text %02d.", n)
		said[chat] = append(said[chat], text)
		w.acked(w.platform.Say(chat, "staff"+chat, text), 1)
	}
	w.settled()
	w.lost()
	for chat, texts := range said {
		w.answeredOnceInOrder(chat, texts)
	}
	if n := len(w.model.Requests()); n != 60 {
		t.Errorf("the model was asked %d times", n)
	}
	for i, r := range []*replica{first, second} {
		if r.adapter.Status().LastEventAt.IsZero() {
			t.Errorf("replica %d got nothing", i+1)
		}
	}
}

func TestDingTalkRateLimitedAnswersWaitAndAreDeliveredInOrder(t *testing.T) {
	w := onDingTalk(t, dingtalktest.Options{WebhookTTL: time.Second}) // too short to be used: all goes over the OpenAPI
	w.platform.AddChat(dingtalktest.Chat{ID: "cidGroup==", Title: "Group", Group: true})
	w.start()
	limit := dingtalktest.Refusal(403, "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi")
	w.platform.Fail(dingtalktest.OpGroupSend, limit, limit)
	var texts []string
	for n := range 5 {
		texts = append(texts, fmt.Sprintf("text %d.", n))
		w.acked(w.platform.Say("cidGroup==", "staff1", texts[n]), 1)
	}
	w.settled()
	w.lost()
	w.answeredOnceInOrder("cidGroup==", texts)
	calls := w.platform.Journal(dingtalktest.OpGroupSend)
	if len(calls) != 7 {
		t.Fatalf("%d attempts", len(calls))
	}
	for i := range 2 {
		if pause := calls[i+1].At.Sub(calls[i].At); pause < time.Second {
			t.Errorf("the limit was followed by an attempt after %s", pause)
		}
	}
}

func TestDingTalkRateLimitedWebhookIsWaitedForNotCircumvented(t *testing.T) {
	w := onDingTalk(t, dingtalktest.Options{})
	w.platform.AddChat(dingtalktest.Chat{ID: "cidGroup==", Title: "Group", Group: true})
	w.start()
	w.platform.Fail(dingtalktest.OpWebhook, dingtalktest.ErrCode("130101"))
	w.platform.Say("cidGroup==", "staff1", "hello")
	w.stored("the limit is noted", func() bool { all := w.deliveries(); return len(all) == 1 && all[0].Error != "" })
	if d := w.deliveries()[0]; d.State != "pending" {
		t.Errorf("the delivery is %s", d.State)
	}
	if n := len(w.platform.Journal(dingtalktest.OpGroupSend)); n != 0 {
		t.Errorf("%d sends over the OpenAPI", n)
	}
}
