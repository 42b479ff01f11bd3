package dingtalk

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/adapters/dingtalk/dingtalktest"
	"github.com/chatkeep/chatkeep/models"
)

// inGroup returns a message of a member in a group.
func (b *bench) inGroup() *adapters.Message {
	b.platform.AddChat(dingtalktest.Chat{ID: "cidGroup==", Group: true, Title: "Ops"})
	return b.received(dingtalktest.Inbound{Chat: "cidGroup==", User: "emp7", Text: "question"})
}

// directly returns a message of a member to the robot.
func (b *bench) directly() *adapters.Message {
	return b.received(dingtalktest.Inbound{Chat: "cidDirect==", User: "emp7", Text: "question"})
}

func TestSendThroughTheWebhook(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	sent, err := b.send(replyTo(b.directly(), "# Result\n\nall **green**"))
	if err != nil || sent.PlatformMessageID == "" {
		t.Fatalf("%+v, %v", sent, err)
	}
	if m := b.last("cidDirect=="); m.Via != dingtalktest.ViaWebhook || m.Title != "Result" || m.Text != "# Result\n\nall **green**" || len(m.At) != 0 {
		t.Errorf("%+v", m)
	}
}

func TestMentionInGroups(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	m := b.inGroup()
	render := func(mention string) string {
		return b.adapter.Render(adapters.Answer{Text: "yes", Target: replyTo(m, "").Target, MentionID: mention})[0]
	}
	if _, err := b.send(replyTo(m, render(m.Sender.ID))); err != nil {
		t.Fatal(err)
	}
	if got := b.last("cidGroup=="); got.Text != "@emp7 yes" || len(got.At) != 1 || got.At[0] != "emp7" || got.Title != "yes" {
		t.Errorf("%+v", got)
	}
	for _, nobody := range []string{"", "$:LWCP_v1:$u1"} {
		if got := render(nobody); got != "yes" {
			t.Errorf("MentionID %q: %q", nobody, got)
		}
	}
	// Over the OpenAPI nobody can be mentioned: the bare id is not shown.
	b.platform.ExpireWebhooks()
	if _, err := b.send(replyTo(m, "@emp7 later")); err != nil {
		t.Fatal(err)
	}
	if got := b.last("cidGroup=="); got.Text != "later" || got.Via != dingtalktest.ViaGroup {
		t.Errorf("%+v", got)
	}
}

func TestExternalPeopleAreNotMentioned(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	b.platform.AddUser("guest", dingtalktest.User{SenderID: "$:LWCP_v1:$guest"})
	b.platform.AddChat(dingtalktest.Chat{ID: "cidGroup==", Group: true})
	m := b.received(dingtalktest.Inbound{Chat: "cidGroup==", User: "guest", Text: "hi"})
	if m.Sender.ID != "$:LWCP_v1:$guest" {
		t.Fatalf("sender %+v", m.Sender)
	}
	if _, err := b.send(replyTo(m, "hello")); err != nil {
		t.Fatal(err)
	}
	for _, e := range b.platform.Journal(dingtalktest.OpWebhook) {
		if strings.Contains(e.Body, `"at"`) {
			t.Errorf("body: %s", e.Body)
		}
	}
}

func TestSlowAnswerGoesThroughTheOpenAPI(t *testing.T) {
	b := newBench(t, setup{fake: true})
	b.run()
	group, direct := b.inGroup(), b.directly()
	b.clock.Advance(89*time.Minute + time.Second) // within the margin of the 90 minutes
	for _, m := range []*adapters.Message{group, direct} {
		if _, err := b.send(replyTo(m, "late")); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.last("cidGroup=="); got.Via != dingtalktest.ViaGroup || got.Text != "late" {
		t.Errorf("group: %+v", got)
	}
	if got := b.last("cidDirect=="); got.Via != dingtalktest.ViaDirect || got.Text != "late" {
		t.Errorf("direct: %+v", got)
	}
	if calls := b.platform.Journal(dingtalktest.OpWebhook); len(calls) != 0 {
		t.Errorf("the expired webhook was called %d times", len(calls))
	}
}

func TestRefusedWebhookFallsBack(t *testing.T) {
	for _, code := range []string{"300001", "session.expired", "400101", "400013", "310000", "90020", "12345"} {
		t.Run(code, func(t *testing.T) {
			b := newBench(t, setup{})
			b.run()
			m := b.inGroup()
			b.platform.Fail(dingtalktest.OpWebhook, dingtalktest.ErrCode(code))
			if _, err := b.send(replyTo(m, "answer")); err != nil {
				t.Fatal(err)
			}
			if got := b.last("cidGroup=="); got.Via != dingtalktest.ViaGroup {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestWebhookFailuresThatDoNotFallBack(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault dingtalktest.Fault
		kind  adapters.SendErrorKind
	}{
		{"20 a minute", dingtalktest.ErrCode("130101"), adapters.RateLimited},
		{"too fast", dingtalktest.ErrCode("410100"), adapters.RateLimited},
		{"too fast, in words", dingtalktest.ErrCode("send.too.fast"), adapters.RateLimited},
		{"qps", dingtalktest.ErrCode("90018"), adapters.RateLimited},
		{"busy", dingtalktest.ErrCode("-1"), adapters.Retry},
		{"banned address", dingtalktest.Fault{Status: 200, Body: `{"status":1111,"wait":5,"punish":"deny"}`}, adapters.RateLimited},
		{"too long", dingtalktest.ErrCode("460101"), adapters.Refused},
		{"content", dingtalktest.ErrCode("430101"), adapters.Refused},
		{"unsafe url", dingtalktest.ErrCode("contain.unsafe.url"), adapters.Refused},
		{"server error", dingtalktest.Page(500), adapters.Unknown},
		{"page with 200", dingtalktest.Page(200), adapters.Unknown},
		{"no errcode", dingtalktest.Fault{Body: `{}`}, adapters.Unknown},
		{"redirect", dingtalktest.Fault{Status: http.StatusFound, Body: "x"}, adapters.Unknown},
		{"unknown result", dingtalktest.ErrCode("unknown.send.result"), adapters.Unknown},
		{"lost answer", dingtalktest.Fault{Apply: true, Drop: true}, adapters.Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, setup{})
			b.run()
			m := b.inGroup()
			b.platform.Fail(dingtalktest.OpWebhook, c.fault)
			_, err := b.send(replyTo(m, "answer"))
			if got := kindOfErr(err); got != c.kind {
				t.Errorf("kind %q, want %q (%v)", got, c.kind, err)
			}
			if e := adapters.SendErrorOf(err); c.kind == adapters.RateLimited && e.RetryAfter <= 0 {
				t.Errorf("no time to wait: %v", err)
			}
			if calls := b.platform.Journal(dingtalktest.OpGroupSend); len(calls) != 0 {
				t.Errorf("the OpenAPI was called: %+v", calls)
			}
		})
	}
}

func TestRefusedContentIsSaidInTheChat(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	m := b.inGroup()
	b.platform.Fail(dingtalktest.OpWebhook, dingtalktest.ErrCode("430102"))
	if _, err := b.send(replyTo(m, "bad words")); kindOfErr(err) != adapters.Refused {
		t.Fatal(err)
	}
	if got := b.last("cidGroup=="); !strings.Contains(got.Text, "content filter") {
		t.Errorf("%+v", got)
	}
}

func TestOpenAPIFailures(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault dingtalktest.Fault
		kind  adapters.SendErrorKind
	}{
		{"qps", dingtalktest.Refusal(403, "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi"), adapters.RateLimited},
		{"qps of the api", dingtalktest.Refusal(403, "Forbidden.AccessDenied.QpsLimitForApi"), adapters.RateLimited},
		{"quota", dingtalktest.Refusal(403, "Forbidden.AccessDenied.ApiCountLimitForOrg"), adapters.Unavailable},
		{"permission", dingtalktest.Refusal(403, "Forbidden.AccessDenied.AccessTokenPermissionDenied"), adapters.Unavailable},
		{"group disbanded", dingtalktest.Refusal(400, "group.disbanded"), adapters.TargetGone},
		{"unknown group", dingtalktest.Refusal(400, "invalid.openConversationId"), adapters.TargetGone},
		{"robot", dingtalktest.Refusal(400, "invalidParameter.robotCode.notExsit"), adapters.TargetGone},
		{"robot stopped", dingtalktest.Refusal(400, "bot.stopped"), adapters.TargetGone},
		{"too long", dingtalktest.Refusal(400, "invalidParameter.msgParam.tooLong"), adapters.Refused},
		{"other", dingtalktest.Refusal(400, "invalidParameter.msgKey"), adapters.Refused},
		{"system error", dingtalktest.Refusal(500, "system.error"), adapters.Unknown},
		{"page", dingtalktest.Page(503), adapters.Unknown},
		{"page with 200", dingtalktest.Page(200), adapters.Unknown},
		{"banned address", dingtalktest.Fault{Body: `{"status":1111,"wait":5,"punish":"deny"}`}, adapters.RateLimited},
		{"lost answer", dingtalktest.Fault{Apply: true, Drop: true}, adapters.Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, setup{})
			b.run()
			m := b.inGroup()
			b.platform.ExpireWebhooks()
			b.platform.Fail(dingtalktest.OpGroupSend, c.fault)
			if _, err := b.send(replyTo(m, "answer")); kindOfErr(err) != c.kind {
				t.Errorf("kind %q, want %q (%v)", kindOfErr(err), c.kind, err)
			}
		})
	}
}

func TestListsInAGoodAnswer(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	m := b.directly()
	b.platform.ExpireWebhooks()
	b.platform.FlowControl("emp7", true)
	if _, err := b.send(replyTo(m, "answer")); kindOfErr(err) != adapters.RateLimited {
		t.Errorf("flow controlled: %v", err)
	}
	push := &models.Delivery{ID: "d", Text: "push", Kind: models.DeliveryPush, Target: models.Target{UserID: "nobody", Direct: true}}
	if _, err := b.send(push); kindOfErr(err) != adapters.TargetGone {
		t.Errorf("unknown staff id: %v", err)
	}
}

func TestDirectChatWithoutStaffID(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	b.platform.AddUser("guest", dingtalktest.User{SenderID: "$:LWCP_v1:$guest"})
	m := b.received(dingtalktest.Inbound{Chat: "cidGuest==", User: "guest", Text: "hi"})
	if _, err := b.send(replyTo(m, "in time")); err != nil {
		t.Fatal(err)
	}
	b.platform.ExpireWebhooks()
	_, err := b.send(replyTo(m, "too late"))
	if kindOfErr(err) != adapters.Refused || !strings.Contains(err.Error(), "staff id") || !strings.Contains(err.Error(), "300001") {
		t.Errorf("%v", err)
	}
}

func TestPushes(t *testing.T) {
	b := newBench(t, setup{})
	b.platform.AddChat(dingtalktest.Chat{ID: "cidGroup==", Group: true})
	b.platform.AddUser("emp7", dingtalktest.User{StaffID: "emp7"})
	for _, target := range []models.Target{{ChatID: "cidGroup=="}, {UserID: "emp7", Direct: true}, {UserID: "emp7"}} {
		sent, err := b.send(&models.Delivery{ID: "d", Text: "good morning", Kind: models.DeliveryPush, Target: target})
		if err != nil || !strings.HasPrefix(sent.PlatformMessageID, "pqk") {
			t.Errorf("%+v: %+v, %v", target, sent, err)
		}
	}
	if n := len(b.platform.Shown()); n != 3 {
		t.Errorf("%d messages are shown, want 3", n)
	}
}

func TestWebhooksElsewhereAreNotCalled(t *testing.T) {
	elsewhere := newBench(t, setup{}) // a platform, but not ours
	b := newBench(t, setup{})
	b.run()
	webhook, _ := json.Marshal(elsewhere.platform.URL() + "/robot/sendBySession?session=x")
	b.platform.AddChat(dingtalktest.Chat{ID: "cidGroup==", Group: true})
	m := b.received(dingtalktest.Inbound{Chat: "cidGroup==", User: "emp7", Text: "hi", Fields: map[string]json.RawMessage{"sessionWebhook": webhook}})
	if _, err := b.send(replyTo(m, "answer")); err != nil {
		t.Fatal(err)
	}
	if n := len(elsewhere.platform.Journal()); n != 0 {
		t.Error("a foreign address was called")
	}
	if got := b.last("cidGroup=="); got.Via != dingtalktest.ViaGroup {
		t.Errorf("%+v", got)
	}
}

func TestOrigins(t *testing.T) {
	a := &Adapter{cfg: Config{BaseURL: "https://api.dingtalk.com", OAPIBaseURL: "https://oapi.dingtalk.com"}}
	for address, want := range map[string]bool{
		"https://oapi.dingtalk.com/robot/sendBySession?session=1":     true,
		"https://OAPI.dingtalk.com:443/robot/sendBySession?session=1": true,
		"https://api.dingtalk.com/x":                                  true,
		"http://oapi.dingtalk.com/robot/sendBySession":                false,
		"https://oapi.dingtalk.com:8443/":                             false,
		"https://oapi.dingtalk.com.evil.example/":                     false,
		"https://oapi.dingtalk.com@evil.example/":                     false,
		"https://user@oapi.dingtalk.com/":                             false,
		"https://evil.example/?x=oapi.dingtalk.com":                   false,
		"//oapi.dingtalk.com/":                                        false,
		"https:oapi.dingtalk.com":                                     false,
		"":                                                            false,
	} {
		if got := a.ours(address); got != want {
			t.Errorf("ours(%q) = %v", address, got)
		}
	}
}

func TestWebhookIsSealedForItsConversation(t *testing.T) {
	s, err := newSealer("id", "secret")
	if err != nil {
		t.Fatal(err)
	}
	sealed := s.seal("https://oapi/x", "cidA")
	replica, _ := newSealer("id", "secret")
	if got, err := replica.open(sealed, "cidA"); err != nil || got != "https://oapi/x" {
		t.Errorf("a replica opens %q, %v", got, err)
	}
	other, _ := newSealer("id", "other secret")
	for name, open := range map[string]func() (string, error){
		"another conversation": func() (string, error) { return s.open(sealed, "cida") },
		"another secret":       func() (string, error) { return other.open(sealed, "cidA") },
		"cut":                  func() (string, error) { return s.open(sealed[:5], "cidA") },
	} {
		if got, err := open(); err == nil {
			t.Errorf("%s opens %q", name, got)
		}
	}
}

func TestErrorsHoldNoSecrets(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	m := b.directly()
	b.platform.Close()
	b.adapter.api.http.CloseIdleConnections() // else the request may have gone out
	_, err := b.send(replyTo(m, "private words"))
	if kindOfErr(err) != adapters.Retry {
		t.Errorf("nothing was sent, but the kind is %q: %v", kindOfErr(err), err)
	}
	for _, secret := range []string{"session=", "private words", "sendBySession", b.platform.ClientSecret()} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error holds %q: %v", secret, err)
		}
	}
}
