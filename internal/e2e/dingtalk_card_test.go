package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters/dingtalk/dingtalktest"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/models"
)

const direct = "cidDirect=="

// growing waits until the card in the direct chat shows words.
func (w *dingtalkWorld) growing() {
	w.t.Helper()
	w.until("a card shows the first words", func() bool {
		all := w.answers(direct)
		return len(all) > 0 && all[0].Card == "typing"
	})
}

// finished waits until the card is finished and returns it; there must be no other message.
func (w *dingtalkWorld) finished() dingtalktest.Message {
	w.t.Helper()
	w.until("the card is finished", func() bool {
		all := w.answers(direct)
		return len(all) > 0 && (all[0].Card == "done" || all[0].Card == "failed")
	})
	w.settled()
	return w.only(direct)
}

func TestDingTalkCardGrowsAndHoldsTheWholeAnswer(t *testing.T) {
	w := onDingTalk(t, dingtalktest.Options{})
	w.cards()
	answer := strings.Repeat("one two three four five ", 8)
	w.model.Script(agenttest.Reply{Text: answer, ChunkRunes: 12, ChunkDelay: 80 * time.Millisecond})
	w.start()
	id := w.platform.Say(direct, "staff1", "count")
	w.growing()
	if m := w.finished(); m.Card != "done" || strings.TrimSpace(m.Text) != strings.TrimSpace(answer) {
		t.Errorf("the card is %s and shows %q", m.Card, m.Text)
	}
	w.ends(id, models.InboundDone)
}

func TestDingTalkCardOfFailedAnswerIsFinishedWithANotice(t *testing.T) {
	w := onDingTalk(t, dingtalktest.Options{})
	w.cards()
	w.model.Script(agenttest.Reply{
		Text: strings.Repeat("words ", 20), ChunkRunes: 12, ChunkDelay: 80 * time.Millisecond, Fault: agenttest.FaultError, After: 9,
	})
	w.start()
	id := w.platform.Say(direct, "staff1", "fail")
	w.growing()
	if m := w.finished(); !strings.Contains(m.Text, "try again") {
		t.Errorf("the card is %s and shows %q", m.Card, m.Text)
	}
	w.ends(id, models.InboundFailed)
}

func TestDingTalkStopCommandFinishesTheCard(t *testing.T) {
	w := onDingTalk(t, dingtalktest.Options{})
	w.cards()
	w.model.Script(silent())
	w.start()
	id := w.platform.Say(direct, "staff1", "a long story")
	w.growing()
	w.platform.Say(direct, "staff1", "/stop")
	w.until("the card is finished", func() bool { card := w.answers(direct)[0].Card; return card == "done" || card == "failed" })
	w.settled()
	w.ends(id, models.InboundCancelled)
}

func TestDingTalkCardOfTurnThatARestartInterruptedIsFinished(t *testing.T) {
	w := onDingTalk(t, dingtalktest.Options{})
	w.cards()
	w.model.Script(silent())
	first := w.start()
	id := w.platform.Say(direct, "staff1", "the question")
	w.growing()
	first.stop()
	w.start() // the model echoes now
	if m := w.finished(); m.Card != "done" || !strings.Contains(m.Text, "the question") {
		t.Errorf("the card is %s and shows %q", m.Card, m.Text)
	}
	w.ends(id, models.InboundDone)
}

func TestDingTalkThinkingEmotionIsRecalledOnEveryPath(t *testing.T) {
	for name, path := range map[string]struct {
		reply agenttest.Reply
		say   string
		state models.InboundState
	}{
		"answer":  {agenttest.Reply{Text: "done", Delay: 300 * time.Millisecond}, "", models.InboundDone},
		"failure": {agenttest.Reply{Status: 400, Body: `{}`, Delay: 300 * time.Millisecond}, "", models.InboundFailed},
		"stop":    {silent(), "/stop", models.InboundCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			w := onDingTalk(t, dingtalktest.Options{})
			w.chat.WorkingSign, w.cfg.WorkingSign = true, true
			w.model.Script(path.reply)
			w.start()
			id := w.platform.Say(direct, "staff1", "work on this")
			w.until("the emotion is shown", func() bool { return len(w.platform.Journal(dingtalktest.OpEmotion)) > 0 })
			if path.say != "" {
				w.platform.Say(direct, "staff1", path.say)
			}
			w.ends(id, path.state)
			w.until("the emotion is recalled", func() bool {
				said := w.platform.Messages(direct)
				return len(w.platform.Journal(dingtalktest.OpEmotionRecall)) > 0 && len(said[0].Emotions) == 0
			})
		})
	}
}
