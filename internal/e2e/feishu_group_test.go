package e2e

import (
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
	"github.com/chatkeep/chatkeep/models"
)

const group = "oc_group"

// inGroup is a world with a group and a replica.
func inGroup(t *testing.T, kind feishutest.ChatKind) *feishuWorld {
	t.Helper()
	w := onFeishu(t)
	w.platform.AddChat(group, kind, "Group")
	w.start()
	return w
}

// tell writes in the group and waits until that is stored.
func (w *feishuWorld) tell(said feishutest.Said) string {
	w.t.Helper()
	said.ChatID = group
	id := w.platform.Say(said)
	w.acked(id, 1)
	return id
}

func TestFeishuTopicAndItsRepliesAreOneSession(t *testing.T) {
	for name, without := range map[string]bool{"with thread_id": false, "without thread_id": true} {
		t.Run(name, func(t *testing.T) {
			w := inGroup(t, feishutest.TopicGroup)
			first := w.tell(feishutest.Said{Text: "the word is heron", Mention: true, WithoutThreadID: without})
			w.settled()
			reply := w.tell(feishutest.Said{Text: "what is the word?", Mention: true, ReplyTo: first, WithoutThreadID: without})
			w.settled()
			last := w.tell(feishutest.Said{Text: "say it again", Mention: true, ReplyTo: reply})
			w.settled()
			key := w.inbound(first).SessionKey
			for _, id := range []string{reply, last} {
				if got := w.inbound(id).SessionKey; got != key {
					t.Errorf("%s is in session %s, the topic is %s", id, got, key)
				}
			}
			if said := prompt(w.asked(3)); !strings.Contains(said, "heron") {
				t.Errorf("the topic's first message is not in the context:\n%s", said)
			}
			topic := w.platform.Messages(group)[0].ThreadID
			for _, v := range w.answers() {
				if v.ThreadID != topic {
					t.Errorf("the answer %q is in %q, not in the topic %q", v.Text, v.ThreadID, topic)
				}
			}
			if n := len(w.answers()); n != 3 {
				t.Errorf("%d answers", n)
			}
		})
	}
}

func TestFeishuTopicStaysOneSessionWhenOnlyLaterRepliesNameTheThread(t *testing.T) {
	w := inGroup(t, feishutest.TopicGroup)
	first := w.tell(feishutest.Said{Text: "one", Mention: true})
	reply := w.tell(feishutest.Said{Text: "two", Mention: true, ReplyTo: first, WithoutThreadID: true})
	last := w.tell(feishutest.Said{Text: "three", Mention: true, ReplyTo: first})
	if a, b, c := w.inbound(first).SessionKey, w.inbound(reply).SessionKey, w.inbound(last).SessionKey; a != b || b != c {
		t.Errorf("one topic is in the sessions %s, %s and %s", a, b, c)
	}
	w.settled()
}

func TestFeishuTwoTopicsAreTwoSessions(t *testing.T) {
	w := inGroup(t, feishutest.TopicGroup)
	one := w.tell(feishutest.Said{Text: "secret: heron", Mention: true})
	w.settled()
	other := w.tell(feishutest.Said{Text: "what is the secret?", Mention: true})
	w.settled()
	if a, b := w.inbound(one).SessionKey, w.inbound(other).SessionKey; a == b {
		t.Errorf("both are in session %s", a)
	}
	if said := prompt(w.asked(2)); strings.Contains(said, "heron") {
		t.Errorf("the other topic is in the context:\n%s", said)
	}
}

func TestFeishuThreadInAnOrdinaryGroupIsASessionWithItsFirstReply(t *testing.T) {
	w := inGroup(t, feishutest.Group)
	root := w.tell(feishutest.Said{Text: "in the group", Mention: true})
	w.settled()
	first := w.tell(feishutest.Said{Text: "in the thread", Mention: true, ReplyTo: root, InThread: true})
	second := w.tell(feishutest.Said{Text: "still in the thread", Mention: true, ReplyTo: first, InThread: true})
	w.settled()
	if a, b := w.inbound(first).SessionKey, w.inbound(second).SessionKey; a != b {
		t.Errorf("the thread is in the sessions %s and %s", a, b)
	}
	if got := w.inbound(root).SessionKey; got == w.inbound(first).SessionKey {
		t.Errorf("the group and the thread share session %s", got)
	}
	for _, id := range []string{first, second} {
		for _, v := range w.answersTo(id) {
			if v.ThreadID == "" {
				t.Errorf("the answer %q left the thread", v.Text)
			}
		}
	}
}

func TestFeishuQuoteInAnOrdinaryGroupIsNoThread(t *testing.T) {
	w := inGroup(t, feishutest.Group)
	first := w.tell(feishutest.Said{Text: "the word is heron", From: "ou_li"})
	quote := w.tell(feishutest.Said{Text: "what does this mean?", Mention: true, ReplyTo: first})
	w.settled()
	if a, b := w.inbound(first).SessionKey, w.inbound(quote).SessionKey; a != b {
		t.Errorf("the quote is in session %s, the group is %s", b, a)
	}
	if said := w.asked(1).Last("user").Text(); !strings.Contains(said, "heron") {
		t.Errorf("the quoted words are not in the message: %q", said)
	}
	all := w.answersTo(quote)
	if len(all) != 1 || all[0].ThreadID != "" {
		t.Errorf("the answers are %+v", all)
	}
}

func TestFeishuMentionOfAllIsNoMention(t *testing.T) {
	w := inGroup(t, feishutest.Group)
	id := w.tell(feishutest.Said{Text: "lunch is here", MentionAll: true})
	w.settled()
	w.ignored(id, models.KindObserved)
}

func TestFeishuMentionOfSomebodyElseIsNoMention(t *testing.T) {
	w := inGroup(t, feishutest.Group)
	id := w.tell(feishutest.Said{Text: "can you look?", Others: []string{"ou_li"}})
	w.settled()
	w.ignored(id, models.KindObserved)
}

func TestFeishuOtherBotIsIgnored(t *testing.T) {
	w := inGroup(t, feishutest.Group)
	id := w.tell(feishutest.Said{Text: "hello bot", From: "ou_other_bot", FromBot: true, Mention: true})
	w.settled()
	w.ignored(id, models.KindIgnored)
}

// ignored checks that a message was stored as kind and that nobody answers it.
func (w *feishuWorld) ignored(messageID string, kind models.InboundKind) {
	w.t.Helper()
	if got := w.inbound(messageID).Kind; got != kind {
		w.t.Errorf("%s is %s, want %s", messageID, got, kind)
	}
	if n := len(w.model.Requests()); n != 0 {
		w.t.Errorf("the model was asked %d times", n)
	}
	if all := w.answers(); len(all) != 0 {
		w.t.Errorf("the bot wrote %+v", all)
	}
}

func TestFeishuUnmentionedTalkIsInTheNextContext(t *testing.T) {
	w := inGroup(t, feishutest.Group)
	w.tell(feishutest.Said{Text: "the launch moved to Friday", From: "ou_li"})
	id := w.tell(feishutest.Said{Text: "when is the launch?", From: "ou_wang", Mention: true})
	w.settled()
	w.answeredOnce(id)
	if said := prompt(w.asked(1)); !strings.Contains(said, "the launch moved to Friday") {
		t.Errorf("the talk is not in the context:\n%s", said)
	}
	again := w.tell(feishutest.Said{Text: "thanks", From: "ou_wang", Mention: true})
	w.settled()
	if n := strings.Count(prompt(w.asked(2)), "the launch moved to Friday"); n != 1 {
		t.Errorf("the talk is %d times in the context of %s", n, again)
	}
}

func TestFeishuRecalledTalkIsNotInTheNextContext(t *testing.T) {
	w := inGroup(t, feishutest.Group)
	secret := w.tell(feishutest.Said{Text: "my password is heron", From: "ou_li"})
	w.platform.Recall(secret)
	w.until("the recall is acknowledged", func() bool { return w.platform.Unacknowledged() == 0 })
	w.tell(feishutest.Said{Text: "what was said?", Mention: true})
	w.settled()
	if said := prompt(w.asked(1)); strings.Contains(said, "heron") {
		t.Errorf("the recalled words are in the context:\n%s", said)
	}
}

func TestFeishuGroupTalkIsNotObservedWhereThatIsOff(t *testing.T) {
	w := onFeishu(t)
	w.chat.Observe = false
	w.platform.AddChat(group, feishutest.Group, "Group")
	w.start()
	w.tell(feishutest.Said{Text: "the launch moved to Friday", From: "ou_li"})
	w.tell(feishutest.Said{Text: "when is the launch?", From: "ou_wang", Mention: true})
	w.settled()
	if said := prompt(w.asked(1)); strings.Contains(said, "Friday") {
		t.Errorf("unmentioned talk is in the context:\n%s", said)
	}
}
