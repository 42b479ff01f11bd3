package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
)

// busyChats says three messages in each of four chats and returns their ids by
// chat. The model answers once release is called.
func (w *feishuWorld) busyChats() (said map[string][]string, release func()) {
	w.t.Helper()
	release = w.hold()
	w.start()
	said = map[string][]string{}
	for n := range 3 {
		for chat := range 4 {
			id := fmt.Sprintf("oc_%d", chat)
			said[id] = append(said[id], w.platform.Say(feishutest.Said{ChatID: id, From: "ou_" + id, Text: fmt.Sprintf("message %d", n)}))
			w.acked(said[id][n], 1) // in this order
		}
	}
	w.asked(4)
	return said, release
}

// deliveredInOrder checks that every message was answered once, in order, and that
// nothing was given up.
func (w *feishuWorld) deliveredInOrder(said map[string][]string) {
	w.t.Helper()
	w.settled()
	w.lost()
	for chat, ids := range said {
		if got := w.answered(chat); !slices.Equal(got, ids) {
			w.t.Errorf("%s: answered %v, want %v", chat, got, ids)
		}
	}
}

// tried waits until an attempt to send has failed in every chat.
func (w *feishuWorld) tried(chats int) {
	w.t.Helper()
	w.stored("sending fails in every chat", func() bool {
		failed := 0
		for _, d := range w.deliveries() {
			if d.Attempts > 0 && d.Error != "" {
				failed++
			}
		}
		return failed >= chats
	})
}

func TestFeishuAnswersThatFellDueDuringAnOutageAreDeliveredInOrder(t *testing.T) {
	w := onFeishu(t)
	said, release := w.busyChats()
	w.platform.SetDown(true)
	release()
	w.tried(len(said))
	w.platform.SetDown(false)
	w.deliveredInOrder(said)
}

func TestFeishuRateLimitedAnswersAreDeliveredInOrderAfterTheReset(t *testing.T) {
	w := onFeishu(t)
	said, release := w.busyChats()
	w.platform.Inject(feishutest.Fault{
		Match: "/reply", Times: 4, Status: 429, Code: 99991400, Msg: "request trigger frequency limit",
		Header: map[string]string{"x-ogw-ratelimit-reset": "3"},
	})
	release()
	w.deliveredInOrder(said)
	w.waited(3 * time.Second)
}

// waited checks that after each refusal a chat was left alone for the time that
// the platform asked for.
func (w *feishuWorld) waited(least time.Duration) {
	w.t.Helper()
	refusedAt := map[string]time.Time{}
	for _, c := range w.platform.Calls("/reply") {
		if c.Status == 429 {
			refusedAt[c.Path] = c.At
		} else if at, ok := refusedAt[c.Path]; ok && c.At.Sub(at) < least {
			w.t.Errorf("%s was sent again after %s", c.Path, c.At.Sub(at))
		}
	}
	if len(refusedAt) == 0 {
		w.t.Error("nothing was refused")
	}
}

func TestFeishuSlowPlatformGetsEveryAnswerInOrder(t *testing.T) {
	w := onFeishu(t)
	said, release := w.busyChats()
	w.platform.Inject(feishutest.Fault{Match: "/reply", Times: -1, Delay: 300 * time.Millisecond})
	release()
	w.deliveredInOrder(said)
}

func TestFeishuSendWhoseAnswerWasLostIsShownOnce(t *testing.T) {
	w := onFeishu(t)
	w.platform.Inject(feishutest.Fault{Match: "/reply", DropAfter: true})
	w.start()
	id := w.say("hello")
	w.acked(id, 1)
	w.settled()
	w.lost()
	w.answeredOnce(id)
	if n := len(w.platform.Calls("/reply")); n < 2 {
		t.Errorf("%d attempts", n)
	}
}

func TestFeishuMessagesSaidDuringAnOutageAreAnsweredAfterIt(t *testing.T) {
	w := onFeishu(t)
	w.start()
	w.platform.SetDown(true)
	w.until("the connection is gone", func() bool { return w.platform.Connections() == 0 })
	id := w.say("are you there?")
	w.platform.SetDown(false)
	w.acked(id, 1)
	w.settled()
	w.answeredOnce(id)
	if text := w.answers()[0].Text; !strings.Contains(text, "are you there?") {
		t.Errorf("the answer is %q", text)
	}
}
