package e2e

import (
	"testing"

	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
	"github.com/chatkeep/chatkeep/models"
)

func TestFeishuRecallBeforeItsMessageLeavesNoAnswer(t *testing.T) {
	w := onFeishu(t)
	w.start()
	id := w.platform.Say(feishutest.Said{ChatID: "oc_direct", Text: "never mind", Quiet: true})
	w.platform.Recall(id)
	w.until("the recall is acknowledged", func() bool { return w.platform.Unacknowledged() == 0 })
	w.platform.Redeliver(id)
	w.acked(id, 1)
	w.settled()
	if n := len(w.model.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	if all := w.answers(); len(all) != 0 {
		t.Errorf("the bot wrote %+v", all)
	}
}

func TestFeishuRecallOfRunningMessageStopsItsTurn(t *testing.T) {
	w := onFeishu(t)
	w.model.Script(silent())
	w.start()
	id := w.say("never mind")
	w.asked(1)
	w.platform.Recall(id)
	w.ends(id, models.InboundCancelled)
	next := w.say("hello") // the session is free again
	w.acked(next, 1)
	w.settled()
	if n := len(w.answersTo(next)); n != 1 {
		t.Errorf("the next message has %d answers", n)
	}
	if all := w.answers(); len(all) != 1 {
		t.Errorf("the bot wrote %+v", all)
	}
}

func TestFeishuRecallOfWaitingMessageDropsIt(t *testing.T) {
	w := onFeishu(t)
	release := w.hold()
	w.start()
	first := w.say("first")
	w.asked(1)
	second := w.say("second")
	w.acked(second, 1)
	w.platform.Recall(second)
	w.ends(second, models.InboundCancelled)
	release()
	w.settled()
	w.answeredOnce(first)
}
