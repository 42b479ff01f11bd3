package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
)

// What is pushed into a group is shown to each member, though what they say to the bot
// themselves is not shown to the others.
func TestFeishuPushIsShownToMembersApart(t *testing.T) {
	w := onFeishu(t)
	w.chat.IsolateMembers = true
	w.platform.AddChat(group, feishutest.Group, "Group")
	r := w.start()
	w.tell(feishutest.Said{Text: "my word is heron", From: "ou_li", Mention: true})
	w.settled()
	push := gateway.Push{
		Channel: "feishu", Account: account, Target: models.Target{ChatID: group}, Text: "the build is green", IdempotencyKey: "build-1", Remember: true,
	}
	for range 2 {
		if _, err := r.gateway.Push(context.Background(), push); err != nil {
			t.Fatal(err)
		}
	}
	w.settled()
	if n := len(w.answers()); n != 2 {
		t.Errorf("the bot wrote %d messages, want an answer and the push", n)
	}
	w.tell(feishutest.Said{Text: "what of the build?", From: "ou_wang", Mention: true})
	w.settled()
	w.tell(feishutest.Said{Text: "and me?", From: "ou_li", Mention: true})
	w.settled()
	w.tell(feishutest.Said{Text: "again?", From: "ou_wang", Mention: true})
	w.settled()
	for n, who := range map[int]string{2: "wang", 3: "li", 4: "wang, again"} {
		said := prompt(w.asked(n))
		if got := strings.Count(said, "assistant: the build is green"); got != 1 {
			t.Errorf("%s is shown the push %d times:\n%s", who, got, said)
		}
		if got := strings.Contains(said, "heron"); got != (who == "li") {
			t.Errorf("%s is shown what li said: %v", who, got)
		}
	}
	w.lost()
}
