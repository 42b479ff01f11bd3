package dingtalk

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/adapters/dingtalk/dingtalktest"
)

// acknowledged checks that every message was stored once and acknowledged with a
// clean 200.
func (b *bench) acknowledged(ids []string) {
	b.t.Helper()
	b.until("every message is acknowledged", func() bool { return b.platform.Acked() >= len(ids) })
	if got := len(b.sink.all()); got != len(ids) {
		b.t.Errorf("%d messages are stored, want %d", got, len(ids))
	}
	for _, id := range ids {
		for _, a := range b.platform.Acks(id) {
			if a.Code != 200 || a.Message != "OK" || a.Data != tookMessage {
				b.t.Fatalf("acknowledgement of %s: %+v", id, a)
			}
		}
	}
	if n := b.platform.BadFrames(); n != 0 {
		b.t.Errorf("%d frames of ours answer nothing", n)
	}
}

func TestBurst(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	var ids []string
	for i := range 2000 {
		ids = append(ids, b.platform.Say(fmt.Sprintf("cid%d==", i%37), "emp1", fmt.Sprint(i)))
	}
	b.acknowledged(ids)
	last := map[string]int{}
	for _, m := range b.sink.all() {
		n, err := strconv.Atoi(m.Text)
		if err != nil {
			t.Fatal(err)
		}
		if before, seen := last[m.Chat.ID]; seen && n < before {
			t.Fatalf("chat %s: %d came after %d", m.Chat.ID, n, before)
		}
		last[m.Chat.ID] = n
	}
}

func TestRotationsUnderLoad(t *testing.T) {
	b := newBench(t, setup{platform: dingtalktest.Options{Linger: 2 * time.Second}})
	b.run()
	var ids []string
	for i := range 50 {
		for j := range 20 {
			ids = append(ids, b.platform.Say(fmt.Sprintf("cid%d==", j), "emp1", "hello"))
		}
		before := b.platform.Opened()
		b.platform.Rotate()
		for j := range 5 {
			ids = append(ids, b.platform.Say(fmt.Sprintf("cid%d==", j), "emp1", fmt.Sprint(i)))
		}
		b.until("the connection is replaced", func() bool { return b.platform.Opened() > before && b.platform.Connections() == 1 })
	}
	b.acknowledged(ids)
	for id, n := range b.sink.seen {
		if n != 1 {
			t.Errorf("%s came %d times", id, n)
		}
	}
}

func TestBrokenConnectionsUnderLoad(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	var ids []string
	for i := range 10 {
		for j := range 20 {
			ids = append(ids, b.platform.Say(fmt.Sprintf("cid%d==", j), "emp1", fmt.Sprint(i)))
		}
		b.platform.DropConnections()
		b.until("the connection is back", func() bool { return b.platform.Connections() == 1 })
	}
	// What was lost with a connection comes again; what was stored comes twice.
	for _, id := range ids {
		if len(b.platform.Acks(id)) == 0 {
			b.platform.Redeliver(id)
		}
	}
	b.until("every message is acknowledged", func() bool { return b.platform.Acked() == len(ids) })
	if got := len(b.sink.all()); got != len(ids) {
		t.Errorf("%d messages are stored, want %d", got, len(ids))
	}
}

func TestReplacementComesBeforeTheEnd(t *testing.T) {
	b := newBench(t, setup{platform: dingtalktest.Options{Linger: time.Hour}})
	b.run()
	b.platform.Rotate()
	b.until("a second connection is there", func() bool { return b.platform.Connections() == 1 && b.platform.Opened() == 2 })
	if !b.adapter.Status().Connected {
		t.Error("not connected while the connection is replaced")
	}
	if len(b.platform.Acks("disconnect")) != 1 {
		t.Error("the disconnect is not answered")
	}
}

func TestFramesAfterDisconnect(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	var ids []string
	b.platform.AskToDisconnect()
	for range 50 {
		ids = append(ids, b.platform.Say("cidA==", "emp1", "after the disconnect"))
	}
	b.acknowledged(ids)
}

func TestLostPongReconnects(t *testing.T) {
	timing := quick
	timing.Silence = 100 * time.Millisecond
	b := newBench(t, setup{config: Config{Timing: timing}})
	b.run()
	b.platform.MutePings(true)
	b.until("a new connection is asked for", func() bool { return b.platform.Opened() > 1 })
	b.platform.MutePings(false)
	// What is said into a connection that is being given up is the platform's to repeat,
	// and on a slow machine more than one may be.
	var said []string
	polls := 0
	b.until("a message is acknowledged", func() bool {
		if polls%100 == 0 {
			said = append(said, b.platform.Say("cidA==", "emp1", "still there?"))
		}
		polls++
		return slices.ContainsFunc(said, func(id string) bool { return len(b.platform.Acks(id)) > 0 })
	})
}

func TestUnsolicitedPong(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	for range 10 {
		b.platform.SendPong()
	}
	b.acknowledged([]string{b.platform.Say("cidA==", "emp1", "hello")})
	if n := b.platform.Opened(); n != 1 {
		t.Errorf("connected %d times, want 1", n)
	}
}

func TestGarbageFrames(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	for _, raw := range []string{
		"", "garbage", "null", "[]", "42", `{"type":7}`, `{"type":"CALLBACK"}`, `{"type":"CALLBACK","headers":[]}`,
		`{"type":"CALLBACK","headers":{"topic":"/v1.0/im/bot/messages/get","messageId":"x"},"data":7}`,
		`{"type":"SYSTEM","headers":{"topic":"ping"},"data":null}`, `{"type":"SYSTEM","headers":{"topic":"REGISTERED"}}`,
	} {
		b.platform.SendRaw([]byte(raw))
	}
	b.platform.SendBinary([]byte{0, 1, 2})
	id := b.platform.Say("cidA==", "emp1", "hello")
	b.until("the message is acknowledged", func() bool { return len(b.platform.Acks(id)) == 1 })
	if n := b.platform.Opened(); n != 1 {
		t.Errorf("connected %d times, want 1", n)
	}
}

func TestFramesOfLooseTypes(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	b.platform.SendRaw([]byte(`{"type":"CALLBACK","time":1,"headers":{"topic":"/v1.0/im/bot/messages/get","messageId":12,"time":1790000000123},` +
		`"data":{"msgId":"m1","msgtype":"text","conversationType":1,"conversationId":"cidA","senderId":"s","createAt":"1790000000000","text":{"content":"hi"}}}`))
	b.until("the message is stored", func() bool { return b.sink.get("m1") != nil })
	if m := b.sink.get("m1"); m.Text != "hi" || m.SentAt.UnixMilli() != 1790000000000 || m.EventID != "12" {
		t.Errorf("%+v", m)
	}
}

func TestSystemAndOtherTopics(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	b.platform.System("ping", `{"opaque":"0xff"}`)
	b.platform.Callback("/v1.0/graph/api/invoke", []byte(`{}`))
	b.until("both are answered", func() bool {
		return len(b.platform.Acks("ping")) == 1 && len(b.platform.Acks("/v1.0/graph/api/invoke")) == 1
	})
	if a := b.platform.Acks("ping")[0]; a.Code != 200 || a.Data != `{"opaque":"0xff"}` {
		t.Errorf("ping: %+v", a)
	}
	if a := b.platform.Acks("/v1.0/graph/api/invoke")[0]; a.Code != 404 {
		t.Errorf("unknown topic: %+v", a)
	}
}

func TestSilenceUntilStored(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	b.sink.failWith(errors.New("Error 1045: Access denied for user 'root'@'db.internal'"))
	id := b.platform.Say("cidA==", "emp1", "hello")
	other := b.platform.Say("cidB==", "emp1", "hello")
	b.until("the attempts are over", func() bool { return b.adapter.lastEvent.Load() > 0 })
	b.sink.failWith(nil)
	b.platform.Redeliver(id)
	b.platform.Redeliver(other)
	b.acknowledged([]string{id, other})
}

func TestSinkThatPanics(t *testing.T) {
	b := newBench(t, setup{})
	in := &intake{decoder: b.adapter.decoder, sink: panicking{}, clock: b.adapter.clock, log: b.adapter.log, patience: time.Second, last: &b.adapter.lastEvent}
	err := in.message(t.Context(), []byte(`{"msgId":"m","conversationId":"c","conversationType":"1","senderId":"s","msgtype":"text","text":{"content":"x"}}`), "")
	if err == nil {
		t.Error("a message whose storing panicked counts as stored")
	}
}

type panicking struct{ adapters.Sink }

func TestStartsWhileThePlatformIsAway(t *testing.T) {
	b := newBench(t, setup{})
	b.platform.Fail(dingtalktest.OpOpen,
		dingtalktest.Page(503), dingtalktest.Refusal(401, "authFailed"), dingtalktest.Fault{Drop: true}, dingtalktest.Fault{Body: `{"endpoint":""}`})
	b.run()
	if n := b.platform.Opened(); n != 1 {
		t.Errorf("%d tickets were given out, want 1", n)
	}
	if s := b.adapter.Status(); s.Error != "" || s.Mode != "stream" {
		t.Errorf("status: %+v", s)
	}
}

func TestStatusTellsWhyItCannotConnect(t *testing.T) {
	b := newBench(t, setup{})
	b.platform.Fail(dingtalktest.OpOpen, dingtalktest.Refusal(401, "authFailed"), dingtalktest.Fault{Delay: time.Minute})
	done := make(chan struct{})
	ctx, cancel := contextWithCancel(t)
	go func() { defer close(done); _ = b.adapter.Run(ctx, b.sink) }()
	b.until("the status tells", func() bool { return strings.Contains(b.adapter.Status().Error, "authFailed") })
	cancel()
	<-done
	if s := b.adapter.Status(); strings.Contains(s.Error, b.platform.ClientSecret()) {
		t.Errorf("the status holds the secret: %s", s.Error)
	}
}

func TestTwoReplicasShareTheLoad(t *testing.T) {
	b := newBench(t, setup{})
	other, err := New(b.adapter.cfg, Deps{API: b.adapter.api.http, Downloads: b.adapter.downloads})
	if err != nil {
		t.Fatal(err)
	}
	b.run()
	second := &sink{seen: map[string]int{}}
	ctx, cancel := contextWithCancel(t)
	var wg sync.WaitGroup
	wg.Go(func() { _ = other.Run(ctx, second) })
	defer wg.Wait()
	defer cancel()
	b.until("both are connected", func() bool { return b.platform.Connections() == 2 })
	for range 100 {
		b.platform.Say("cidA==", "emp1", "hello")
	}
	b.until("all are acknowledged", func() bool { return b.platform.Acked() == 100 })
	if first, second := len(b.sink.all()), len(second.all()); first == 0 || second == 0 || first+second != 100 {
		t.Errorf("the replicas took %d and %d of 100", first, second)
	}
	// What one replica took the other can answer, webhook included.
	m := append(second.all(), b.sink.all()...)[0]
	if _, err := b.send(replyTo(m, "an answer")); err != nil {
		t.Fatal(err)
	}
	if got := b.last("cidA==").Via; got != dingtalktest.ViaWebhook {
		t.Errorf("answered via %s", got)
	}
}

func TestIdsAreByteExact(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	ids := []string{"cidQ1w2E3/r4+T5==", "cidq1w2e3/r4+t5==", "cidQ1w2E3/r4+T5=", "cid Q%2F%3A:"}
	for _, id := range ids {
		b.platform.AddChat(dingtalktest.Chat{ID: id, Group: true, Title: id})
		m := b.received(dingtalktest.Inbound{Chat: id, User: "Emp1", Text: "in " + id})
		if m.Chat.ID != id || m.Sender.ID != "Emp1" {
			t.Errorf("chat %q, sender %q", m.Chat.ID, m.Sender.ID)
		}
		b.platform.ExpireWebhooks()
		if _, err := b.send(replyTo(m, "to "+id)); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range ids {
		if all := b.platform.Messages(id); len(all) != 2 || all[1].Text != "to "+id {
			t.Errorf("chat %q shows %+v", id, all)
		}
	}
}

func TestConnectURL(t *testing.T) {
	for _, c := range []struct{ endpoint, base, want string }{
		{"wss://host:443/connect", "https://api", "wss://host:443/connect?ticket=a%2Bb%2F%3D"},
		{"ws://127.0.0.1:1/connect?x=1", "http://api", "ws://127.0.0.1:1/connect?ticket=a%2Bb%2F%3D&x=1"},
		{"ws://host/connect", "https://api", ""},
		{"http://host/connect", "http://api", ""},
		{"::", "http://api", ""},
	} {
		got, err := connectURL(c.endpoint, "a+b/=", c.base)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("connectURL(%q) = %q, %v", c.endpoint, got, err)
		}
	}
}

func TestBackoff(t *testing.T) {
	b := backoff{least: time.Second, most: time.Minute}
	for i, seconds := range []int{1, 2, 4, 8, 16, 32, 60, 60, 60} {
		most := time.Duration(seconds) * time.Second
		if d := b.next(); d < most/2 || d > most {
			t.Errorf("wait %d is %s, want %s to %s", i, d, most/2, most)
		}
	}
	b.tries = 1 << 30
	if d := b.next(); d < 30*time.Second || d > time.Minute {
		t.Errorf("after very many attempts: %s", d)
	}
}

func TestPeerThatNeverReads(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b := newBench(t, setup{config: Config{Timing: Timing{Request: 50 * time.Millisecond, ReconnectMin: time.Millisecond}}})
	b.platform.Fail(dingtalktest.OpOpen, dingtalktest.Fault{Body: `{"endpoint":"ws://` + l.Addr().String() + `/connect","ticket":"t"}`})
	b.run() // the handshake times out, the next attempt works
}
