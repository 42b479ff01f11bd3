package feishu

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters/adaptertest"
	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
)

func TestConformance(t *testing.T) {
	for _, mode := range []Mode{ModeWebsocket, ModeWebhook} {
		t.Run(string(mode), func(t *testing.T) {
			adaptertest.Run(t, func(t *testing.T) adaptertest.Harness {
				t.Helper()
				r := newRig(t, rigOptions{config: func(c *Config) { c.Mode = mode }})
				var platform adaptertest.Platform = suitePlatform{r.platform}
				if mode == ModeWebhook {
					platform = forgingPlatform{suitePlatform{r.platform}}
				}
				return adaptertest.Harness{Adapter: r.adapter, Platform: platform, Close: r.close}
			}, sdkCacheCleaner)
		})
	}
}

// suitePlatform is the platform as the conformance suite drives it.
type suitePlatform struct{ *feishutest.Server }

func (p suitePlatform) Push(m adaptertest.Message) {
	kind := feishutest.Group
	if m.Direct {
		kind = feishutest.P2P
	}
	p.Say(feishutest.Said{MessageID: m.ID, ChatID: m.ChatID, Kind: kind, From: m.SenderID, Text: m.Text, Mention: !m.Direct})
}

func (p suitePlatform) Redeliver(m adaptertest.Message) { p.Server.Redeliver(m.ID) }

func (p suitePlatform) PushGarbage(payload []byte) { p.PushRaw(payload) }

func (p suitePlatform) Shown() []adaptertest.Shown {
	var out []adaptertest.Shown
	for _, v := range p.FromBot() {
		out = append(out, adaptertest.Shown{ID: v.ID, ChatID: v.ChatID, Text: v.Text})
	}
	return out
}

func (p suitePlatform) Fail(f adaptertest.Fault) bool {
	fault := feishutest.Fault{Match: "POST /open-apis/im/v1/messages"}
	switch f {
	case adaptertest.FaultRateLimited:
		fault.Code, fault.Status, fault.Header = 99991400, http.StatusTooManyRequests, map[string]string{"x-ogw-ratelimit-reset": "7"}
	case adaptertest.FaultRefused:
		fault.Code = 230028
	case adaptertest.FaultTargetGone:
		fault.Code = 230002
	case adaptertest.FaultUnavailable:
		fault.Code = 99991403
	case adaptertest.FaultServerError:
		fault.Status, fault.Plain = http.StatusBadGateway, true
	case adaptertest.FaultLost:
		fault.DropAfter = true
	default:
		return false
	}
	p.Inject(fault)
	return true
}

// forgingPlatform also pushes what is not the platform's.
type forgingPlatform struct{ suitePlatform }

func (p forgingPlatform) PushForged(m adaptertest.Message, variant int) (int, bool) {
	event := map[string]any{
		"sender":  map[string]any{"sender_id": map[string]any{"open_id": m.SenderID}, "sender_type": "user"},
		"message": map[string]any{"message_id": m.ID, "chat_id": m.ChatID, "chat_type": "p2p", "message_type": "text", "content": `{"text":"forged"}`},
	}
	plain := p.Envelope("im.message.receive_v1", "ev_forged", event)
	body := feishutest.Encrypt(plain, testKey)
	now := time.Unix(1_800_000_000, 0)
	headers := feishutest.Sign(now, "nonce", testKey, body)
	switch variant {
	case 0: // no signature
		headers = http.Header{}
	case 1: // made with another key
		headers = feishutest.Sign(now, "nonce", "other-key", body)
	case 2: // one byte of the body changed
		body = bytes.Replace(body, []byte("{"), []byte("{ "), 1)
	case 3: // of another nonce
		headers.Set("X-Lark-Request-Nonce", "other")
	case 4: // plain, signed, with the right token
		body = plain
		headers = feishutest.Sign(now, "nonce", testKey, body)
	case 5: // encrypted with another key
		body = feishutest.Encrypt(plain, "other-key")
		headers = feishutest.Sign(now, "nonce", testKey, body)
	case 6: // another token
		body = feishutest.Encrypt(bytes.ReplaceAll(plain, []byte(testToken), []byte("other-token")), testKey)
		headers = feishutest.Sign(now, "nonce", testKey, body)
	case 7: // another app
		body = feishutest.Encrypt(bytes.ReplaceAll(plain, []byte(feishutest.DefaultAppID), []byte("cli_other")), testKey)
		headers = feishutest.Sign(now, "nonce", testKey, body)
	case 8: // nothing at all
		body = nil
	case 9: // no JSON
		body = []byte("hello")
		headers = feishutest.Sign(now, "nonce", testKey, body)
	case 10: // a URL check with a wrong token
		body = feishutest.Encrypt([]byte(`{"type":"url_verification","challenge":"c","token":"other"}`), testKey)
	case 11: // the same in the open
		body = []byte(`{"type":"url_verification","challenge":"c","token":"other"}`)
	case 12: // an event that calls itself a URL check
		body = bytes.Replace(plain, []byte("{"), []byte(`{"type":"event_callback",`), 1)
	default:
		return 0, false
	}
	status, _, err := p.PostSigned(body, headers)
	if err != nil {
		return 0, true
	}
	return status, true
}
