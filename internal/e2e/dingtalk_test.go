package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/adapters/dingtalk"
	"github.com/chatkeep/chatkeep/adapters/dingtalk/dingtalktest"
	"github.com/chatkeep/chatkeep/models"
)

// dingtalkWorld is a world on DingTalk.
type dingtalkWorld struct {
	*world
	platform *dingtalktest.Server
	cfg      dingtalk.Config
}

func onDingTalk(t *testing.T, opts dingtalktest.Options) *dingtalkWorld {
	t.Helper()
	w := &dingtalkWorld{world: newWorld(t)}
	platform, err := dingtalktest.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(platform.Close)
	w.platform, w.channel = platform, dingtalk.Channel
	w.changed, w.connections = platform.Changed, platform.Connections
	w.cfg = dingtalk.Config{
		Account: account, ClientID: platform.ClientID(), ClientSecret: platform.ClientSecret(),
		BaseURL: platform.URL(), OAPIBaseURL: platform.URL(),
		Timing: dingtalk.Timing{ReconnectMin: time.Millisecond, ReconnectMax: 50 * time.Millisecond, CardPace: 100 * time.Millisecond},
	}
	w.world.adapter = func() (adapters.Adapter, error) {
		return dingtalk.New(w.cfg, dingtalk.Deps{API: w.http, Downloads: w.http})
	}
	return w
}

// cards makes the robot answer in AI cards.
func (w *dingtalkWorld) cards() { w.chat.Streaming, w.cfg.CardTemplateID = true, "template" }

// acked waits until the platform has n positive acknowledgements of a message.
func (w *dingtalkWorld) acked(messageID string, n int) {
	w.t.Helper()
	w.until(messageID+" is acknowledged", func() bool {
		good := 0
		for _, a := range w.platform.Acks(messageID) {
			if a.Code == 200 {
				good++
			}
		}
		return good >= n
	})
}

// answers returns what the robot wrote in a chat, oldest first.
func (w *dingtalkWorld) answers(chat string) []dingtalktest.Message {
	var out []dingtalktest.Message
	for _, m := range w.platform.Messages(chat) {
		if m.User == "" {
			out = append(out, m)
		}
	}
	return out
}

// only returns the single answer in a chat.
func (w *dingtalkWorld) only(chat string) dingtalktest.Message {
	w.t.Helper()
	all := w.answers(chat)
	if len(all) != 1 {
		w.t.Fatalf("the robot wrote %d messages in %s: %+v", len(all), chat, all)
	}
	return all[0]
}

func TestDingTalkRedeliveryHasOneAnswer(t *testing.T) {
	w := onDingTalk(t, dingtalktest.Options{})
	w.start()
	id := w.platform.Say("cidDirect==", "staff1", "hello") // every delivery has a header id of its own
	w.acked(id, 1)
	w.settled()
	w.platform.Redeliver(id)
	w.acked(id, 2)
	w.settled()
	if m := w.only("cidDirect=="); !strings.Contains(m.Text, "hello") {
		t.Errorf("the robot says %q", m.Text)
	}
	if n := len(w.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestDingTalkRedeliveryDuringTheTurnHasOneAnswer(t *testing.T) {
	w := onDingTalk(t, dingtalktest.Options{})
	release := w.hold()
	w.start()
	id := w.platform.Say("cidDirect==", "staff1", "hello")
	w.asked(1)
	for range 20 {
		w.platform.Redeliver(id)
	}
	w.acked(id, 21)
	release()
	w.settled()
	w.only("cidDirect==")
	if n := len(w.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestDingTalkQuotaNoticeIsNoMessage(t *testing.T) {
	w := onDingTalk(t, dingtalktest.Options{})
	w.start()
	w.platform.Push("notice", []byte(`{"errorCode":"20001","errorMessage":"the quota is used up","conversationId":"cidDirect==","conversationType":"1","senderStaffId":"staff1"}`))
	w.acked("notice", 1)
	id := w.platform.Say("cidDirect==", "staff1", "hello")
	w.acked(id, 1)
	w.settled()
	w.only("cidDirect==")
	if n := len(w.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestDingTalkStickerGetsOnePoliteLineAndNeverReachesTheModel(t *testing.T) {
	w := onDingTalk(t, dingtalktest.Options{})
	w.start()
	id := w.platform.Send(dingtalktest.Inbound{Chat: "cidDirect==", User: "staff1", Type: "sticker"})
	w.until("the robot answers", func() bool { return len(w.answers("cidDirect==")) > 0 })
	w.platform.Redeliver(id)
	w.acked(id, 2)
	next := w.platform.Say("cidDirect==", "staff1", "hello")
	w.acked(next, 1)
	w.settled()
	if all := w.answers("cidDirect=="); len(all) != 2 || !strings.Contains(all[0].Text, "I can read text") {
		t.Errorf("the robot wrote %+v", all)
	}
	if n := len(w.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	w.ends(id, models.InboundIgnored)
}

func TestDingTalkStickerInAGroupGetsNoAnswer(t *testing.T) {
	w := onDingTalk(t, dingtalktest.Options{})
	w.platform.AddChat(dingtalktest.Chat{ID: "cidGroup==", Title: "Group", Group: true})
	w.start()
	id := w.platform.Send(dingtalktest.Inbound{Chat: "cidGroup==", User: "staff1", Type: "sticker"})
	w.acked(id, 1)
	next := w.platform.Say("cidGroup==", "staff1", "hello")
	w.acked(next, 1)
	w.settled()
	if m := w.only("cidGroup=="); !strings.Contains(m.Text, "hello") {
		t.Errorf("the robot says %q", m.Text)
	}
}
