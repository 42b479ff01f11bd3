package feishu

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/adapters/adaptertest"
	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
	"github.com/chatkeep/chatkeep/internal/clock"
)

func TestNewRefusesWhatCannotWork(t *testing.T) {
	good := Config{Account: "main", AppID: "cli_x", AppSecret: "s"}
	if _, err := New(good, Deps{}); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Config){
		"encryptKey":    func(c *Config) { c.Mode = ModeWebhook },
		"mode":          func(c *Config) { c.Mode = "pigeon" },
		"appId":         func(c *Config) { c.AppID = "" },
		"appSecret":     func(c *Config) { c.AppSecret = "" },
		"account":       func(c *Config) { c.Account = "" },
		"baseUrl":       func(c *Config) { c.BaseURL = "open.feishu.cn" },
		"replyInThread": func(c *Config) { c.Chat.ReplyInThread = "sometimes" },
	} {
		cfg := good
		spoil(&cfg)
		if _, err := New(cfg, Deps{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: err = %v", name, err)
		}
	}
}

// memberships returns every id by which a message says which thread it is in.
func threadIDs(m *adapters.Message) []string {
	return append([]string{m.Chat.ThreadID}, m.Chat.ThreadAliases...)
}

func TestATopicIsOneThread(t *testing.T) {
	for _, withoutID := range []bool{false, true} {
		t.Run(fmt.Sprintf("without thread ids: %v", withoutID), func(t *testing.T) {
			r := startRig(t, rigOptions{})
			r.platform.AddChat("oc_topics", feishutest.TopicGroup, "Topics")
			first := r.said(feishutest.Said{ChatID: "oc_topics", Text: "first", Mention: true, WithoutThreadID: withoutID})
			reply := r.said(feishutest.Said{ChatID: "oc_topics", Text: "second", Mention: true, ReplyTo: first.ID, WithoutThreadID: withoutID})
			late := r.said(feishutest.Said{ChatID: "oc_topics", Text: "third", Mention: true, ReplyTo: reply.ID})
			other := r.said(feishutest.Said{ChatID: "oc_topics", Text: "another topic", Mention: true, WithoutThreadID: withoutID})

			common := func(a, b *adapters.Message) bool {
				return slices.ContainsFunc(threadIDs(a), func(id string) bool { return slices.Contains(threadIDs(b), id) })
			}
			if first.Chat.ThreadID == "" || !common(first, reply) || !common(reply, late) {
				t.Errorf("one topic, but threads %q, %q, %q", threadIDs(first), threadIDs(reply), threadIDs(late))
			}
			if common(first, other) {
				t.Errorf("two topics share an id: %q, %q", threadIDs(first), threadIDs(other))
			}
		})
	}
}

func TestAQuoteInAGroupIsNoThread(t *testing.T) {
	r := startRig(t, rigOptions{})
	r.platform.AddChat("oc_group", feishutest.Group, "Group")
	first := r.said(feishutest.Said{ChatID: "oc_group", Text: "first"})
	quote := r.said(feishutest.Said{ChatID: "oc_group", Text: "yes", ReplyTo: first.ID})
	if quote.Chat.ThreadID != "" || quote.Quote == nil || quote.Quote.MessageID != first.ID {
		t.Errorf("thread %q, quote %+v", quote.Chat.ThreadID, quote.Quote)
	}
	threaded := r.said(feishutest.Said{ChatID: "oc_group", Text: "aside", ReplyTo: first.ID, InThread: true})
	if threaded.Chat.ThreadID == "" || threaded.Chat.ThreadOf != first.ID {
		t.Errorf("a thread of a group: %+v", threaded.Chat)
	}
}

func TestAChatThatBecomesATopicGroup(t *testing.T) {
	r := startRig(t, rigOptions{})
	r.platform.AddChat("oc_group", feishutest.Group, "Group")
	if m := r.said(feishutest.Said{ChatID: "oc_group", Text: "before"}); m.Chat.ThreadID != "" {
		t.Fatalf("thread %q", m.Chat.ThreadID)
	}
	r.platform.SetKind("oc_group", feishutest.TopicGroup, "ou_person")
	r.until("the update is acknowledged", func() bool { return r.platform.Unacknowledged() == 0 })
	if m := r.said(feishutest.Said{ChatID: "oc_group", Text: "after", WithoutThreadID: true}); m.Chat.ThreadID != m.ID {
		t.Errorf("thread %q, want %q", m.Chat.ThreadID, m.ID)
	}
}

func TestASlowChatLookupDoesNotDelayTheAck(t *testing.T) {
	r := startRig(t, rigOptions{})
	r.platform.Inject(feishutest.Fault{Match: "GET /open-apis/im/v1/chats/", Delay: 5 * time.Second, Times: -1})
	start := r.adapter.clock.Now()
	id := r.platform.Say(feishutest.Said{ChatID: "oc_group", Kind: feishutest.Group, Text: "hi", Mention: true})
	r.until("acknowledged", func() bool { return r.platform.Acks(id) == 1 })
	if took := r.adapter.clock.Now().Sub(start); took > 2*time.Second {
		t.Errorf("acknowledged after %v", took)
	}
}

func TestOthersBotsAreFlaggedAndUnmentionedTalkIsPassedOn(t *testing.T) {
	r := startRig(t, rigOptions{})
	bot := r.said(feishutest.Said{ChatID: "oc_group", Kind: feishutest.Group, From: "ou_robot", FromBot: true, Text: "beep", Mention: true})
	if !bot.Sender.IsBot {
		t.Error("another bot counts as a person")
	}
	talk := r.said(feishutest.Said{ChatID: "oc_group", Text: "lunch?"})
	if talk.Mentioned || talk.Text != "lunch?" {
		t.Errorf("talk: %+v", talk)
	}
	id := r.platform.Say(feishutest.Said{ChatID: "oc_group", From: feishutest.BotOpenID, Text: "I am the bot"})
	r.until("acknowledged", func() bool { return r.platform.Acks(id) == 1 })
	for _, m := range r.sink.Messages() {
		if m.ID == id {
			t.Error("the bot's own message reached the sink")
		}
	}
}

func TestGroupsStayClosedUntilTheBotKnowsItself(t *testing.T) {
	fake := clock.NewFake(time.Unix(1_800_000_000, 0))
	r := newRig(t, rigOptions{clock: fake, platform: feishutest.Options{Clock: clock.Real()}})
	t.Cleanup(r.close)
	r.platform.Inject(feishutest.Fault{Match: "/bot/v3/info", Code: 99991400, Times: -1})
	r.run(nil)
	r.until("connected", func() bool { return r.adapter.Status().Connected })
	if m := r.said(feishutest.Said{ChatID: "oc_g", Kind: feishutest.Group, Text: "hi", Mention: true}); m.Mentioned {
		t.Error("mentioned before the bot knows itself")
	}
	if r.adapter.Status().Error == "" {
		t.Error("the status does not say that the bot does not know itself")
	}
	r.platform.Heal()
	r.until("the bot knows itself", func() bool {
		fake.Advance(time.Second)
		return r.adapter.selfID() == feishutest.BotOpenID
	})
	if m := r.said(feishutest.Said{ChatID: "oc_g", Text: "hi", Mention: true}); !m.Mentioned {
		t.Error("not mentioned")
	}
}

func TestShuffledFramesOverSeveralConnections(t *testing.T) {
	r := startRig(t, rigOptions{})
	// Further replicas of the same app: each event goes to one of them.
	sinks := []*adaptertest.Sink{r.sink}
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); wg.Wait() })
	for range 3 {
		a, err := New(r.adapter.cfg, Deps{HTTP: r.client})
		if err != nil {
			t.Fatal(err)
		}
		sink := &adaptertest.Sink{}
		sinks = append(sinks, sink)
		wg.Go(func() { _ = a.Run(ctx, sink) })
	}
	r.until("four connections", func() bool { return r.platform.Connections() == 4 })

	const chats, each = 20, 10
	var said []feishutest.Said
	start := time.UnixMilli(1_800_000_000_000)
	for i := range chats * each {
		said = append(said, feishutest.Said{
			ChatID: fmt.Sprintf("oc_%d", i%chats), MessageID: fmt.Sprintf("om_%d", i), Text: "hi",
			At: start.Add(time.Duration(i) * time.Millisecond),
		})
	}
	rand.Shuffle(len(said), func(i, j int) { said[i], said[j] = said[j], said[i] })
	for _, s := range said {
		r.platform.Say(s)
	}
	r.until("everything is acknowledged", func() bool { return r.platform.Unacknowledged() == 0 })
	got := map[string]int64{}
	for _, sink := range sinks {
		for _, m := range sink.Messages() {
			got[m.ID] = m.SentAt.UnixMilli()
		}
	}
	for _, s := range said {
		if got[s.MessageID] != s.At.UnixMilli() {
			t.Fatalf("%s: creation time %d, want %d", s.MessageID, got[s.MessageID], s.At.UnixMilli())
		}
	}
}

func TestFragmentedEvents(t *testing.T) {
	r := startRig(t, rigOptions{platform: feishutest.Options{FragmentSize: 200}})
	text := strings.Repeat("很长的消息", 100)
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: text})
	if m.Text != text {
		t.Error("the text is not whole")
	}
}

func TestPlatformDownAtStartAndLater(t *testing.T) {
	fake := clock.NewFake(time.Unix(1_800_000_000, 0))
	r := newRig(t, rigOptions{clock: fake, platform: feishutest.Options{Clock: clock.Real()}})
	t.Cleanup(r.close)
	r.platform.SetDown(true)
	r.run(nil)
	// Three minutes without the platform, at start.
	for range 180 {
		fake.Advance(time.Second)
	}
	r.until("the outage is visible", func() bool { fake.Advance(time.Second); return r.adapter.Status().Error != "" })
	if s := r.adapter.Status(); s.Connected || s.Mode != "websocket" {
		t.Errorf("status %+v", s)
	}
	id := r.platform.Say(feishutest.Said{ChatID: "oc_1", Text: "written while it is down"})
	r.platform.SetDown(false)
	r.until("connected", func() bool { fake.Advance(time.Second); return r.adapter.Status().Connected })
	r.until("what was written is delivered", func() bool { return r.platform.Acks(id) == 1 })

	// And again while connected.
	r.platform.SetDown(true)
	r.until("the loss is noticed", func() bool { return !r.adapter.Status().Connected })
	r.platform.SetDown(false)
	r.until("connected again", func() bool { fake.Advance(time.Second); return r.adapter.Status().Connected })
	r.said(feishutest.Said{ChatID: "oc_1", Text: "hello again"})
}

func TestUnreachablePlatformIsTriedEveryTenSeconds(t *testing.T) {
	fake := clock.NewFake(time.Unix(1_800_000_000, 0))
	r := newRig(t, rigOptions{clock: fake, platform: feishutest.Options{Clock: clock.Real()}})
	t.Cleanup(r.close)
	var mu sync.Mutex
	tries := 0
	r.adapter.http = &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		tries++
		return nil, errors.New("unreachable")
	})}
	count := func() int { mu.Lock(); defer mu.Unlock(); return tries }
	r.run(nil)
	for n := 1; n <= 6; n++ {
		r.until("the first try", func() bool { return count() >= n })
		waited := time.Duration(0)
		r.until("the next try", func() bool {
			if count() > n {
				return true
			}
			fake.Advance(100 * time.Millisecond)
			waited += 100 * time.Millisecond
			return false
		})
		// The waiter may need a moment of real time while the fake clock runs on.
		if n = count() - 1; waited > 60*time.Second {
			t.Errorf("try %d came after %v", n, waited)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRefusedAppIsTriedAgain(t *testing.T) {
	fake := clock.NewFake(time.Unix(1_800_000_000, 0))
	r := newRig(t, rigOptions{clock: fake, platform: feishutest.Options{Clock: clock.Real()}})
	t.Cleanup(r.close)
	r.platform.Inject(feishutest.Fault{Match: "/callback/ws/endpoint", Code: 1000040345, Msg: "app is disabled", Times: 3})
	r.run(nil)
	r.until("the refusal is visible", func() bool { return strings.Contains(r.adapter.Status().Error, "app is disabled") })
	r.until("connected", func() bool { fake.Advance(time.Second); return r.adapter.Status().Connected })
	if s := r.adapter.Status(); s.Error != "" {
		t.Errorf("status %+v", s)
	}
}

func TestRunTwiceIsRefusedAndAgainIsNot(t *testing.T) {
	r := startRig(t, rigOptions{})
	if err := r.adapter.Run(context.Background(), r.sink); !errors.Is(err, errRunning) {
		t.Errorf("err = %v", err)
	}
	r.stop()
	r.run(nil)
	r.until("connected", func() bool { return r.adapter.Status().Connected })
}

func TestWebhookURLCheck(t *testing.T) {
	r := startRig(t, rigOptions{config: func(c *Config) { c.Mode = ModeWebhook }})
	check := `{"challenge":"ch\"1","token":"` + testToken + `","type":"url_verification"}`
	for name, body := range map[string][]byte{
		"plain":     []byte(check),
		"encrypted": feishutest.Encrypt([]byte(check), testKey),
	} {
		status, answer, err := r.platform.PostSigned(body, http.Header{})
		if err != nil || status != http.StatusOK || string(answer) != `{"challenge":"ch\"1"}` {
			t.Errorf("%s: %d %s %v", name, status, answer, err)
		}
	}
}

func TestWebhookWithoutTokenStillNeedsTheKey(t *testing.T) {
	r := startRig(t, rigOptions{config: func(c *Config) { c.Mode, c.VerificationToken = ModeWebhook, "" }})
	check := []byte(`{"challenge":"c","token":"","type":"url_verification"}`)
	if status, _, _ := r.platform.PostSigned(check, http.Header{}); status != http.StatusUnauthorized {
		t.Errorf("plain: status %d", status)
	}
	if status, _, _ := r.platform.PostSigned(feishutest.Encrypt(check, testKey), http.Header{}); status != http.StatusOK {
		t.Errorf("encrypted: status %d", status)
	}
	r.said(feishutest.Said{ChatID: "oc_1", Text: "hello"})
}

func TestWebhookAnswers(t *testing.T) {
	r := startRig(t, rigOptions{config: func(c *Config) { c.Mode = ModeWebhook }})
	get, err := r.client.Get(r.hook.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = get.Body.Close()
	if get.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", get.StatusCode)
	}
	if status, _, _ := r.platform.PostSigned([]byte(strings.Repeat("x", maxWebhookBody+1)), http.Header{}); status != http.StatusRequestEntityTooLarge {
		t.Errorf("large: %d", status)
	}
	event := map[string]any{
		"sender":  map[string]any{"sender_id": map[string]any{"open_id": "ou_1"}},
		"message": map[string]any{"message_id": "om_1", "chat_id": "oc_1", "chat_type": "p2p", "message_type": "text", "content": `{"text":"x"}`},
	}
	r.sink.FailWith(errors.New("the database is away"))
	if status, _, _ := r.platform.Post(r.platform.Envelope("im.message.receive_v1", "ev_1", event)); status != http.StatusServiceUnavailable {
		t.Errorf("sink error: %d", status)
	}
	r.sink.FailWith(nil)
	status, answer, _ := r.platform.Post(r.platform.Envelope("im.message.receive_v1", "ev_1", event))
	if status != http.StatusOK || string(answer) != "{}" {
		t.Errorf("stored: %d %s", status, answer)
	}
	r.stop()
	if status, _, _ := r.platform.Post(r.platform.Envelope("im.message.receive_v1", "ev_2", event)); status != http.StatusServiceUnavailable {
		t.Errorf("not running: %d", status)
	}
}

// panickingSink panics on the first message.
type panickingSink struct {
	adaptertest.Sink
	once sync.Once
}

func (s *panickingSink) Accept(ctx context.Context, m *adapters.Message) error {
	s.once.Do(func() { panic("the sink is broken") })
	return s.Sink.Accept(ctx, m)
}

func TestAPanicIsNoAcknowledgement(t *testing.T) {
	sink := &panickingSink{}
	r := startRig(t, rigOptions{sink: sink})
	id := r.platform.Say(feishutest.Said{ChatID: "oc_1", Text: "hello"})
	r.until("refused", func() bool { return r.platform.Nacks(id) == 1 })
	r.platform.Redeliver(id)
	r.until("acknowledged", func() bool { return r.platform.Acks(id) == 1 })
}
