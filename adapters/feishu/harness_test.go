package feishu

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/adapters/adaptertest"
	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
)

const (
	testToken = "verification-token"
	testKey   = "encrypt-key"
)

// rig is an adapter and the platform that it talks to.
type rig struct {
	t        *testing.T
	platform *feishutest.Server
	adapter  *Adapter
	sink     *adaptertest.Sink
	client   *http.Client
	hook     *httptest.Server
	stop     func()
}

type rigOptions struct {
	platform feishutest.Options
	config   func(*Config)
	clock    clock.Clock
	sink     adapters.Sink
}

// newRig makes a rig that is not running.
func newRig(t *testing.T, o rigOptions) *rig {
	t.Helper()
	o.platform.VerificationToken, o.platform.EncryptKey = testToken, testKey
	if o.platform.Clock == nil {
		o.platform.Clock = o.clock
	}
	s, err := feishutest.New(o.platform)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Account: "main", AppID: feishutest.DefaultAppID, AppSecret: feishutest.DefaultAppSecret,
		VerificationToken: testToken, EncryptKey: testKey, BaseURL: s.URL(),
		Chat: ChatConfig{Streaming: true, WorkingSign: true, Mention: true},
	}
	if o.config != nil {
		o.config(&cfg)
	}
	client := &http.Client{Transport: &http.Transport{}}
	a, err := New(cfg, Deps{Clock: o.clock, HTTP: client, Fetch: client})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, platform: s, adapter: a, sink: &adaptertest.Sink{}, client: client}
	if cfg.Mode == ModeWebhook {
		r.hook = httptest.NewServer(http.HandlerFunc(a.ServeWebhook))
		s.SetWebhookURL(r.hook.URL)
	}
	r.stop = func() {}
	return r
}

func (r *rig) close() {
	r.stop()
	r.platform.Close()
	if r.hook != nil {
		r.hook.Close()
	}
	r.client.CloseIdleConnections()
}

// startRig makes a rig and runs it until the end of the test.
func startRig(t *testing.T, o rigOptions) *rig {
	t.Helper()
	r := newRig(t, o)
	t.Cleanup(r.close)
	r.run(o.sink)
	r.until("connected", func() bool { return r.adapter.Status().Connected })
	return r
}

// run starts the adapter; stop ends it and checks that it ended well.
func (r *rig) run(sink adapters.Sink) {
	if sink == nil {
		sink = r.sink
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.adapter.Run(ctx, sink) }()
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("Run: %v", err)
		}
	}
}

func (r *rig) until(what string, condition func() bool) {
	r.t.Helper()
	deadline := time.NewTimer(15 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline.C:
			r.t.Fatalf("waited in vain: %s", what)
		case <-tick.C:
		}
	}
}

// said lets a person write and returns the message as the sink got it.
func (r *rig) said(said feishutest.Said) *adapters.Message {
	r.t.Helper()
	id := r.platform.Say(said)
	var got *adapters.Message
	r.until("the sink has "+id, func() bool {
		for _, m := range r.sink.Messages() {
			if m.ID == id {
				got = m
			}
		}
		return got != nil
	})
	return got
}

func (r *rig) send(d *models.Delivery) (adapters.Sent, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	return r.adapter.Send(ctx, d)
}

// mustSend sends text as the answer to m and returns what people see.
func (r *rig) mustSend(m *adapters.Message, id, text string) feishutest.View {
	r.t.Helper()
	sent, err := r.send(adaptertest.Delivery(m, id, text))
	if err != nil {
		r.t.Fatal(err)
	}
	return r.view(sent.PlatformMessageID)
}

func (r *rig) view(id string) feishutest.View {
	r.t.Helper()
	for _, v := range r.platform.FromBot() {
		if v.ID == id {
			return v
		}
	}
	r.t.Fatalf("the bot wrote no message %s", id)
	return feishutest.View{}
}
