package crashtest

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters/dingtalk/dingtalktest"
	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
)

// platforms are the two chat platforms at the wire. They outlive the gateway, as
// the real ones do, and remember what people were shown.
type platforms struct {
	feishu   *feishutest.Server
	dingtalk *dingtalktest.Server
}

func newPlatforms(t *testing.T) *platforms {
	t.Helper()
	f, err := feishutest.New(feishutest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	d, err := dingtalktest.New(dingtalktest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return &platforms{f, d}
}

// channels is the configuration of one account on each.
func (p *platforms) channels() map[string][]any {
	return map[string][]any{
		"feishu": {map[string]any{
			"account": "main", "mode": "websocket", "agent": "assistant", "baseUrl": p.feishu.URL(),
			"appId": feishutest.DefaultAppID, "appSecret": feishutest.DefaultAppSecret,
		}},
		"dingtalk": {map[string]any{
			"account": "main", "mode": "stream", "agent": "assistant", "baseUrl": p.dingtalk.URL(), "oapiBaseUrl": p.dingtalk.URL(),
			"clientId": p.dingtalk.ClientID(), "clientSecret": p.dingtalk.ClientSecret(),
		}},
	}
}

func (p *platforms) connected() bool {
	return p.feishu.Connections() > 0 && p.dingtalk.Connections() > 0
}

// conversation is a person who says some texts one after the other, each once the
// one before was accepted, whatever becomes of the gateway meanwhile.
type conversation struct {
	name string
	// say sends a text until it is accepted and returns the sender's id of it.
	say func(t *testing.T, text string) string
	// shown is what the person sees of the answers; nil where answers are fetched.
	shown func() []string
	// most is how often an answer may be seen.
	most int
}

const acceptedWithin = 30 * time.Second

func overAPI(c *client, name string) conversation {
	return conversation{name: name, say: func(t *testing.T, text string) string {
		m := said{UserID: name, MessageID: "m-" + text, Text: text}
		until(t, "the API accepts "+text, acceptedWithin, func() bool {
			status, _, err := c.say(m)
			return err == nil && status == http.StatusAccepted
		})
		return m.MessageID
	}}
}

func (p *platforms) overFeishu(name string) conversation {
	chat, person := "oc_"+name, "ou_"+name
	return conversation{
		name: name, most: 1, // sends are idempotent there
		say: func(t *testing.T, text string) string {
			id := p.feishu.Say(feishutest.Said{ChatID: chat, From: person, Text: text})
			untilAcked(t, text, func() bool { return p.feishu.Acks(id) > 0 }, func() { p.feishu.Redeliver(id) })
			return id
		},
		shown: func() []string {
			var out []string
			for _, v := range p.feishu.Messages(chat) {
				if v.FromBot && !v.Recalled {
					out = append(out, v.Text)
				}
			}
			return out
		},
	}
}

func (p *platforms) overDingTalk(name string) conversation {
	p.dingtalk.AddChat(dingtalktest.Chat{ID: "cid" + name, User: name})
	return conversation{
		name: name, most: 2, // it cannot recognise a repeat
		say: func(t *testing.T, text string) string {
			id := p.dingtalk.Say("cid"+name, name, text)
			acked := func() bool {
				return slices.ContainsFunc(p.dingtalk.Acks(id), func(a dingtalktest.Ack) bool { return a.Code == http.StatusOK })
			}
			untilAcked(t, text, acked, func() { p.dingtalk.Redeliver(id) })
			return id
		},
		shown: func() []string {
			var out []string
			for _, m := range p.dingtalk.Messages("cid" + name) {
				if m.User == "" {
					out = append(out, m.Text)
				}
			}
			return out
		},
	}
}

// untilAcked waits for an acknowledgement; the platform delivers again what has none.
func untilAcked(t *testing.T, text string, acked func() bool, redeliver func()) {
	t.Helper()
	waited := 0
	until(t, "the gateway acknowledges "+text, acceptedWithin, func() bool {
		if acked() {
			return true
		}
		if waited++; waited%40 == 0 {
			redeliver()
		}
		return false
	})
}

// seen counts how often an answer to a text is on a person's screen.
func seen(screen []string, text string) int {
	n := 0
	for _, s := range screen {
		if strings.Contains(s, answerTo(text)) {
			n++
		}
	}
	return n
}
