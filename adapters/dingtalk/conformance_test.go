package dingtalk

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters/adaptertest"
	"github.com/chatkeep/chatkeep/adapters/dingtalk/dingtalktest"
	"github.com/chatkeep/chatkeep/internal/clock"
)

func TestConformance(t *testing.T) {
	for _, mode := range []Mode{ModeStream, ModeWebhook} {
		t.Run(string(mode), func(t *testing.T) {
			adaptertest.Run(t, harness(mode))
		})
	}
}

func harness(mode Mode) adaptertest.Setup {
	return func(t *testing.T) adaptertest.Harness {
		t.Helper()
		platform, err := dingtalktest.New(dingtalktest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{}
		client := &http.Client{Transport: transport}
		adapter, err := New(Config{
			Account: "main", Mode: mode, ClientID: platform.ClientID(), ClientSecret: platform.ClientSecret(),
			BaseURL: platform.URL(), OAPIBaseURL: platform.URL(), Timing: Timing{ReconnectMin: time.Millisecond},
		}, Deps{API: client, Downloads: client})
		if err != nil {
			t.Fatal(err)
		}
		p := &fake{Server: platform}
		h := adaptertest.Harness{Adapter: adapter, Platform: p}
		stop := func() {}
		if mode == ModeWebhook {
			web := httptest.NewServer(http.HandlerFunc(adapter.ServeWebhook))
			platform.SetWebhookTarget(web.URL)
			h.Platform = &pusher{fake: p, target: web.URL}
			stop = web.Close
		}
		h.Close = func() {
			platform.Close()
			stop()
			transport.CloseIdleConnections()
		}
		return h
	}
}

// fake is the platform as the suite drives it.
type fake struct{ *dingtalktest.Server }

func (p *fake) Push(m adaptertest.Message) { p.Send(p.inbound(m)) }

func (p *fake) inbound(m adaptertest.Message) dingtalktest.Inbound {
	p.AddChat(dingtalktest.Chat{ID: m.ChatID, Group: !m.Direct, User: m.SenderID, Title: "Room"})
	return dingtalktest.Inbound{ID: m.ID, Chat: m.ChatID, User: m.SenderID, Text: m.Text}
}

func (p *fake) Redeliver(m adaptertest.Message) { p.Server.Redeliver(m.ID) }

func (p *fake) PushGarbage(payload []byte) {
	p.Server.Push(fmt.Sprintf("garbage-%d", len(payload)), payload)
	p.SendRaw(payload)
}

func (p *fake) Acks(id string) int {
	n := 0
	for _, a := range p.Server.Acks(id) {
		if a.Code == 200 {
			n++
		}
	}
	return n
}

func (p *fake) Shown() []adaptertest.Shown {
	var out []adaptertest.Shown
	for _, m := range p.Server.Shown() {
		out = append(out, adaptertest.Shown{ID: m.ID, ChatID: m.ChatID, Text: m.Text})
	}
	return out
}

func (p *fake) Fail(f adaptertest.Fault) bool {
	switch f {
	case adaptertest.FaultRateLimited:
		p.Server.Fail(dingtalktest.OpWebhook, dingtalktest.ErrCode("130101"))
	case adaptertest.FaultRefused:
		p.Server.Fail(dingtalktest.OpWebhook, dingtalktest.ErrCode("430102"))
	case adaptertest.FaultTargetGone:
		p.Server.Fail(dingtalktest.OpWebhook, dingtalktest.ErrCode("400101"))
		p.Server.Fail(dingtalktest.OpDirectSend, dingtalktest.Refusal(400, "robot.oto.notExist"))
	case adaptertest.FaultUnavailable:
		p.Server.Fail(dingtalktest.OpWebhook, dingtalktest.ErrCode("300001"))
		p.Server.Fail(dingtalktest.OpDirectSend, dingtalktest.Refusal(403, "Forbidden.AccessDenied.ApiCountLimitForOrg"))
	case adaptertest.FaultServerError:
		p.Server.Fail(dingtalktest.OpWebhook, dingtalktest.Page(502))
	case adaptertest.FaultLost:
		p.Server.Fail(dingtalktest.OpWebhook, dingtalktest.Fault{Apply: true, Drop: true})
	default:
		return false
	}
	return true
}

// pusher is the platform of a robot in HTTP mode.
type pusher struct {
	*fake
	target string
}

func (p *pusher) PushForged(m adaptertest.Message, variant int) (int, bool) {
	ms := func(d time.Duration) string { return strconv.FormatInt(clock.Real().Now().Add(d).UnixMilli(), 10) }
	now := ms(0)
	forgeries := []struct{ timestamp, sign string }{
		{now, "bm90IHRoZSBzaWduYXR1cmU="},
		{now, ""},
		{"", p.Sign(now)},
		{"", ""},
		{ms(-61 * time.Minute), p.Sign(ms(-61 * time.Minute))},
		{ms(6 * time.Minute), p.Sign(ms(6 * time.Minute))},
		{now + "0", p.Sign(now)},
		{"yesterday", p.Sign("yesterday")},
	}
	if variant >= len(forgeries) {
		return 0, false
	}
	body, _ := json.Marshal(map[string]string{
		"msgId": m.ID, "conversationId": m.ChatID, "conversationType": "1", "senderId": m.SenderID, "msgtype": "text",
	})
	return p.PostSigned(p.target, body, forgeries[variant].timestamp, forgeries[variant].sign), true
}
