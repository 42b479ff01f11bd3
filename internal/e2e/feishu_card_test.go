package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/models"
)

// card waits until the answer to a message is a card that streams and shows words,
// and returns it.
func (w *feishuWorld) card(messageID string) feishutest.View {
	w.t.Helper()
	var card feishutest.View
	w.until("a card shows the first words", func() bool {
		for _, v := range w.answersTo(messageID) {
			if v.Streaming && w.platform.CardChanges(v.ID) > 0 {
				card = v
				return true
			}
		}
		return false
	})
	return card
}

// finished waits until the card of a message does not stream any more, and returns
// it. There must be no other and no button left.
func (w *feishuWorld) finished(messageID string) feishutest.View {
	w.t.Helper()
	var all []feishutest.View
	w.until("the card is finished", func() bool {
		all = w.answersTo(messageID)
		return len(all) > 0 && !all[0].Streaming && len(all[0].Buttons) == 0
	})
	w.settled()
	if len(all) != 1 {
		w.t.Errorf("%d answers: %+v", len(all), all)
	}
	return all[0]
}

func TestFeishuCardGrowsAndHoldsTheWholeAnswer(t *testing.T) {
	w := onFeishu(t)
	w.streaming()
	answer := strings.Repeat("one two three four five ", 12)
	w.model.Script(agenttest.Reply{Text: answer, ChunkRunes: 12, ChunkDelay: 80 * time.Millisecond})
	w.start()
	id := w.say("count")
	grown := map[string]bool{}
	w.until("the card grows", func() bool {
		for _, v := range w.answersTo(id) {
			if v.Streaming {
				grown[v.Text] = true
			}
		}
		return len(grown) >= 3
	})
	if card := w.finished(id); strings.TrimSpace(card.Text) != strings.TrimSpace(answer) {
		t.Errorf("the card shows %q", card.Text)
	}
	w.ends(id, models.InboundDone)
}

func TestFeishuCardOfFailedAnswerIsFinishedWithANotice(t *testing.T) {
	w := onFeishu(t)
	w.streaming()
	w.model.Script(agenttest.Reply{
		Text: strings.Repeat("words ", 20), ChunkRunes: 12, ChunkDelay: 100 * time.Millisecond, Fault: agenttest.FaultError, After: 9,
	})
	w.start()
	id := w.say("fail")
	w.card(id)
	if card := w.finished(id); !strings.Contains(card.Text, "/retry") && !strings.Contains(card.Text, "try again") {
		t.Errorf("the card shows %q", card.Text)
	}
	w.ends(id, models.InboundFailed)
}

func TestFeishuStopCommandFinishesTheCard(t *testing.T) {
	w := onFeishu(t)
	w.streaming()
	w.model.Script(silent())
	w.start()
	id := w.say("a long story")
	w.card(id)
	w.say("/stop")
	w.finished(id)
	w.ends(id, models.InboundCancelled)
}

func TestFeishuStopButtonIsAnsweredAtOnceAndFinishesTheCard(t *testing.T) {
	w := onFeishu(t)
	w.streaming()
	w.model.Script(silent())
	w.start()
	id := w.say("a long story")
	card := w.card(id)
	toast, err := w.platform.Press(card.ID, "ou_person", "Stop") // fails after 3 s
	if err != nil || toast.Type != "info" {
		t.Fatalf("the button says %+v, %v", toast, err)
	}
	w.finished(id)
	w.ends(id, models.InboundCancelled)
}

func TestFeishuStopButtonObeysOnlyTheAsker(t *testing.T) {
	w := onFeishu(t)
	w.streaming()
	w.model.Script(silent())
	w.platform.AddChat("oc_group", feishutest.Group, "Group")
	w.start()
	id := w.platform.Say(feishutest.Said{ChatID: "oc_group", From: "ou_asker", Text: "a long story", Mention: true})
	card := w.card(id)
	if _, err := w.platform.Press(card.ID, "ou_other", "Stop"); err != nil {
		t.Fatal(err)
	}
	if in := w.inbound(id); in.State.Final() {
		t.Errorf("somebody else stopped it: %s", in.State)
	}
	if _, err := w.platform.Press(card.ID, "ou_asker", "Stop"); err != nil {
		t.Fatal(err)
	}
	w.finished(id)
	w.ends(id, models.InboundCancelled)
}

func TestFeishuRecallFinishesTheCard(t *testing.T) {
	w := onFeishu(t)
	w.streaming()
	w.model.Script(silent())
	w.start()
	id := w.say("never mind")
	w.card(id)
	w.platform.Recall(id)
	w.finished(id)
	w.ends(id, models.InboundCancelled)
}

func TestFeishuCardOfTurnThatARestartInterruptedIsFinished(t *testing.T) {
	w := onFeishu(t)
	w.streaming()
	w.model.Script(silent())
	first := w.start()
	id := w.say("the question")
	w.card(id)
	first.stop()
	w.start() // the model echoes now
	if card := w.finished(id); !strings.Contains(card.Text, "the question") {
		t.Errorf("the card shows %q", card.Text)
	}
	w.ends(id, models.InboundDone)
}

func TestFeishuCardOfTurnThatFailsAfterARestartIsFinished(t *testing.T) {
	w := onFeishu(t)
	w.streaming()
	w.model.Script(silent(), agenttest.Fail(400, "bad_request", "no"))
	first := w.start()
	id := w.say("the question")
	w.card(id)
	first.stop()
	w.start()
	w.finished(id)
	w.ends(id, models.InboundFailed)
}
