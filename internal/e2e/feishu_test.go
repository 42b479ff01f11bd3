package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/adapters/feishu"
	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
)

// feishuWorld is a world on Feishu.
type feishuWorld struct {
	*world
	platform *feishutest.Server
	cfg      feishu.ChatConfig
}

func onFeishu(t *testing.T) *feishuWorld {
	t.Helper()
	w := &feishuWorld{world: newWorld(t)}
	platform, err := feishutest.New(feishutest.Options{
		Redeliver: slices.Repeat([]time.Duration{5 * time.Second}, 10), // what a slow machine did not store in time
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(platform.Close)
	w.platform, w.channel = platform, feishu.Channel
	w.changed, w.connections = platform.Changed, platform.Connections
	w.world.adapter = func() (adapters.Adapter, error) {
		return feishu.New(feishu.Config{
			Account: account, AppID: feishutest.DefaultAppID, AppSecret: feishutest.DefaultAppSecret,
			BaseURL: platform.URL(), Chat: w.cfg,
		}, feishu.Deps{HTTP: w.http})
	}
	return w
}

// streaming makes the chats show answers while they grow.
func (w *feishuWorld) streaming() { w.chat.Streaming, w.cfg.Streaming = true, true }

// say writes in somebody's direct chat with the bot.
func (w *feishuWorld) say(text string) string {
	return w.platform.Say(feishutest.Said{ChatID: "oc_direct", Text: text})
}

// acked waits until the platform has n acknowledgements of a message.
func (w *feishuWorld) acked(messageID string, n int) {
	w.t.Helper()
	w.until(messageID+" is acknowledged", func() bool { return w.platform.Acks(messageID) >= n })
}

// answers returns what the bot wrote, oldest first.
func (w *feishuWorld) answers() []feishutest.View { return w.platform.FromBot() }

// answersTo returns what the bot wrote in reply to a message.
func (w *feishuWorld) answersTo(messageID string) []feishutest.View {
	var out []feishutest.View
	for _, v := range w.answers() {
		if v.ReplyTo == messageID {
			out = append(out, v)
		}
	}
	return out
}

// answeredOnce checks that a message has one answer and cost one call of the model.
func (w *feishuWorld) answeredOnce(messageID string) {
	w.t.Helper()
	if n := len(w.answersTo(messageID)); n != 1 {
		w.t.Errorf("%s has %d answers", messageID, n)
	}
	if all := w.answers(); len(all) != 1 {
		w.t.Errorf("the bot wrote %d messages", len(all))
	}
	if n := len(w.model.Requests()); n != 1 {
		w.t.Errorf("the model was asked %d times", n)
	}
}
