package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
)

const (
	chats   = 20
	perChat = 10
	// orderWindow is within what time frames may be shuffled without being noticed.
	orderWindow = 30 * time.Millisecond
)

// crowd is many chats in which as many messages were written a millisecond apart.
func crowd(begin time.Time) []feishutest.Said {
	var all []feishutest.Said
	for chat := range chats {
		for n := range perChat {
			all = append(all, feishutest.Said{
				MessageID: fmt.Sprintf("om_%02d_%02d", chat, n), ChatID: fmt.Sprintf("oc_%02d", chat), From: fmt.Sprintf("ou_%02d", chat),
				Text: fmt.Sprintf("message %02d of chat %02d", n, chat), At: begin.Add(time.Duration(n) * time.Millisecond),
			})
		}
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// threeReplicas are three connections to one store.
func (w *feishuWorld) threeReplicas() {
	w.t.Helper()
	for range 3 {
		w.start()
	}
}

// answered returns the messages of a chat that were answered, in the order of the answers.
func (w *feishuWorld) answered(chatID string) []string {
	var out []string
	for _, v := range w.platform.Messages(chatID) {
		if v.FromBot {
			out = append(out, v.ReplyTo)
		}
	}
	return out
}

func TestFeishuShuffledFramesAreAllAnsweredInOrderOfCreation(t *testing.T) {
	w := onFeishu(t)
	w.threeReplicas()
	all := crowd(time.Now())
	for _, said := range all {
		w.platform.Say(said)
	}
	for _, said := range all {
		w.acked(said.MessageID, 1)
	}
	w.settled()
	w.lost()
	began := map[string]time.Time{} // the turn of each message
	calls := w.model.Calls()
	for i, r := range w.model.Requests() {
		var n, chat int
		text := r.Last("user").Text()
		if _, err := fmt.Sscanf(text[max(0, strings.Index(text, "message")):], "message %d of chat %d", &n, &chat); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		began[fmt.Sprintf("om_%02d_%02d", chat, n)] = calls[i]
	}
	for chat := range chats {
		w.inOrder(fmt.Sprintf("oc_%02d", chat), began)
	}
}

// inOrder checks that a chat's messages were answered once each, and in the order
// of creation where they arrived within the window. began tells when the turn of
// each message began.
func (w *feishuWorld) inOrder(chatID string, began map[string]time.Time) {
	w.t.Helper()
	got := w.answered(chatID)
	if sorted := slices.Compact(slices.Sorted(slices.Values(got))); len(got) != perChat || len(sorted) != perChat {
		w.t.Errorf("%s: answered %v, want each of %d once", chatID, got, perChat)
		return
	}
	for i, later := range got {
		for _, earlier := range got[i+1:] {
			if earlier > later { // ids rise with the time of creation
				continue
			}
			arrived := w.inbound(later).ReceivedAt
			apart, waited := w.inbound(earlier).ReceivedAt.Sub(arrived), began[later].Sub(arrived)
			// An idle chat waits for the window; a busy one goes on with what is there.
			idle := i == 0 || w.inbound(got[i-1]).FinishedAt.Before(arrived)
			if idle && apart < orderWindow && waited < orderWindow { // else the store was slow to take the earlier one
				w.t.Errorf("%s: %s was answered %s after it arrived, before %s, which arrived %s after it", chatID, later, waited, earlier, apart)
			}
		}
	}
}

func TestFeishuWaitingFramesAreAnsweredInOrderOfCreation(t *testing.T) {
	w := onFeishu(t)
	release := w.hold()
	w.threeReplicas()
	begin := time.Now()
	for chat := range chats { // keep every chat busy
		w.platform.Say(feishutest.Said{ChatID: fmt.Sprintf("oc_%02d", chat), From: fmt.Sprintf("ou_%02d", chat), Text: "first", At: begin})
	}
	w.asked(chats)
	all := crowd(begin.Add(time.Second))
	for _, said := range all {
		w.platform.Say(said)
	}
	for _, said := range all {
		w.acked(said.MessageID, 1)
	}
	release()
	w.settled()
	w.lost()
	for chat := range chats {
		got := w.answered(fmt.Sprintf("oc_%02d", chat))
		if len(got) != perChat+1 || !slices.IsSorted(got[1:]) {
			t.Errorf("chat %d: answered %v", chat, got)
		}
	}
}
