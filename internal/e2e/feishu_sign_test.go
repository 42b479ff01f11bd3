package e2e

import (
	"testing"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/models"
)

// signs makes the bot show that it is busy with a message.
func (w *feishuWorld) signs() { w.chat.WorkingSign, w.cfg.WorkingSign = true, true }

// reactions counts the reactions under a message of a chat.
func (w *feishuWorld) reactions(chatID, messageID string) int {
	for _, v := range w.platform.Messages(chatID) {
		if v.ID == messageID {
			return len(v.Reactions)
		}
	}
	return 0
}

// busy says something, waits for the working sign and returns the message's id.
func (w *feishuWorld) busy() string {
	w.t.Helper()
	id := w.say("work on this")
	w.until("the working sign is shown", func() bool { return w.reactions("oc_direct", id) == 1 })
	return id
}

func (w *feishuWorld) signGone(messageID string) {
	w.t.Helper()
	w.until("the working sign is taken back", func() bool { return w.reactions("oc_direct", messageID) == 0 })
}

func TestFeishuWorkingSignIsTakenBackAfterTheAnswer(t *testing.T) {
	w := onFeishu(t)
	w.signs()
	release := w.hold()
	w.start()
	id := w.busy()
	release()
	w.signGone(id)
	w.ends(id, models.InboundDone)
}

func TestFeishuWorkingSignIsTakenBackAfterAFailure(t *testing.T) {
	w := onFeishu(t)
	w.signs()
	gate := make(chan struct{})
	w.model.Otherwise(func(*agenttest.ChatRequest) agenttest.Reply {
		<-gate
		return agenttest.Fail(400, "bad_request", "no")
	})
	w.start()
	id := w.busy()
	close(gate)
	w.signGone(id)
	w.ends(id, models.InboundFailed)
}

func TestFeishuWorkingSignIsTakenBackAfterStop(t *testing.T) {
	w := onFeishu(t)
	w.signs()
	w.model.Script(silent())
	w.start()
	id := w.busy()
	w.say("/stop")
	w.signGone(id)
	w.ends(id, models.InboundCancelled)
}

func TestFeishuWorkingSignIsTakenBackAfterARecall(t *testing.T) {
	w := onFeishu(t)
	w.signs()
	w.model.Script(silent())
	w.start()
	id := w.busy()
	w.platform.Recall(id)
	w.signGone(id)
	w.ends(id, models.InboundCancelled)
}

func TestFeishuWorkingSignIsTakenBackAfterARestart(t *testing.T) {
	w := onFeishu(t)
	w.signs()
	w.model.Script(silent())
	first := w.start()
	id := w.busy()
	first.stop()
	w.start()
	w.ends(id, models.InboundDone)
	w.signGone(id)
}

func TestFeishuWorkingSignIsTakenBackIfItWasShownLate(t *testing.T) {
	w := onFeishu(t)
	w.signs()
	w.start()
	id := w.say("quick")
	w.acked(id, 1)
	w.settled()
	w.until("the working sign came and went", func() bool {
		shown := len(w.platform.Calls("POST /open-apis/im/v1/messages/" + id + "/reactions"))
		hidden := len(w.platform.Calls("DELETE /open-apis/im/v1/messages/" + id + "/reactions"))
		return shown == 1 && hidden == 1
	})
	w.signGone(id)
}
