package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters/dingtalk/dingtalktest"
)

func TestDingTalkAnswerGoesThroughTheSessionWebhook(t *testing.T) {
	w := onDingTalk(t, dingtalktest.Options{})
	w.start()
	w.acked(w.platform.Say("cidDirect==", "staff1", "hello"), 1)
	w.settled()
	if m := w.only("cidDirect=="); m.Via != dingtalktest.ViaWebhook {
		t.Errorf("the answer came via %s", m.Via)
	}
}

func TestDingTalkSlowAnswerAfterTheWebhookExpiredGoesThroughTheOpenAPI(t *testing.T) {
	for name, opts := range map[string]dingtalktest.Options{
		"by the clock":            {WebhookTTL: 30 * time.Second}, // less than the margin that is kept
		"as the platform decides": {},
	} {
		t.Run(name, func(t *testing.T) {
			w := onDingTalk(t, opts)
			w.platform.AddChat(dingtalktest.Chat{ID: "cidGroup==", Title: "Group", Group: true})
			release := w.hold()
			w.start()
			w.platform.Say("cidGroup==", "staff1", "a slow question")
			w.platform.Say("cidDirect==", "staff2", "another slow question")
			w.asked(2)
			w.platform.ExpireWebhooks()
			release()
			w.settled()
			w.lost()
			if m := w.only("cidGroup=="); m.Via != dingtalktest.ViaGroup || !strings.Contains(m.Text, "a slow question") {
				t.Errorf("the answer in the group is %+v", m)
			}
			if m := w.only("cidDirect=="); m.Via != dingtalktest.ViaDirect || !strings.Contains(m.Text, "another slow question") {
				t.Errorf("the answer to the person is %+v", m)
			}
		})
	}
}

func TestDingTalkAnswerThatCannotBeDeliveredSaysWhy(t *testing.T) {
	w := onDingTalk(t, dingtalktest.Options{WebhookTTL: 30 * time.Second})
	w.platform.AddUser("guest", dingtalktest.User{SenderID: "$:LWCP_v1:$guest"})
	w.start()
	w.acked(w.platform.Say("cidDirect==", "guest", "hello"), 1)
	w.settled()
	all := w.deliveries()
	if len(all) != 1 || all[0].State != "failed" || !strings.Contains(all[0].Error, "staff id") {
		t.Errorf("the deliveries are %+v", all)
	}
}
