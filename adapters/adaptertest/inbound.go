package adaptertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
)

func ackFollowsAccept(t *testing.T, b *bench) {
	release := b.sink.Hold()
	m := message("om_held")
	b.Platform.Push(m)
	b.until("the sink is called", func() bool { return b.sink.count(m.ID) == 1 })
	b.stays("nothing is acknowledged while the sink works", func() bool { return b.Platform.Acks(m.ID) == 0 })
	release()
	b.until("the message is acknowledged", func() bool { return b.Platform.Acks(m.ID) == 1 })
}

func ackWithinASecond(t *testing.T, b *bench) {
	// A busy machine may spoil one try, a slow adapter spoils all.
	for try := range 3 {
		m := message(fmt.Sprintf("om_quick_%d", try))
		b.Platform.Push(m)
		if eventually(time.Second, func() bool { return b.Platform.Acks(m.ID) == 1 }) {
			return
		}
	}
	t.Error("not acknowledged within a second")
}

func sinkErrorMeansNoAck(t *testing.T, b *bench) {
	b.sink.FailWith(errors.New("the database is away"))
	m := message("om_refused")
	b.Platform.Push(m)
	b.until("the sink is called", func() bool { return b.sink.count(m.ID) > 0 })
	b.stays("a message that the sink refused is not acknowledged", func() bool { return b.Platform.Acks(m.ID) == 0 })

	b.sink.FailWith(nil)
	tries := b.sink.count(m.ID)
	b.Platform.Redeliver(m)
	b.until("the redelivery reaches the sink", func() bool { return b.sink.count(m.ID) > tries })
	b.until("the redelivery is acknowledged", func() bool { return b.Platform.Acks(m.ID) > 0 })
}

func redeliveryKeepsID(t *testing.T, b *bench) {
	m := message("om_twice")
	b.Platform.Push(m)
	b.until("the first is acknowledged", func() bool { return b.Platform.Acks(m.ID) == 1 })
	b.Platform.Redeliver(m)
	b.until("the second is acknowledged", func() bool { return b.Platform.Acks(m.ID) == 2 })
	if n := b.sink.count(m.ID); n != 2 {
		t.Errorf("the sink saw the message id %d times, want 2: it alone removes duplicates", n)
	}
}

func acceptOutlivesRun(t *testing.T, b *bench) {
	release := b.sink.Hold()
	defer release()
	m := message("om_late")
	b.Platform.Push(m)
	b.until("the sink is called", func() bool { return b.sink.count(m.ID) == 1 })
	b.cancel()
	accept := b.sink.lastContext()
	b.stays("the context of a running Accept lives on after Run's ended", func() bool { return accept.Err() == nil })
	if _, ok := accept.Deadline(); !ok {
		t.Error("Accept has no deadline")
	}
	release()
	b.stop()
}

func messagesSurviveJSON(t *testing.T, b *bench) {
	m := b.received(Message{ID: "om_json", ChatID: "oc_group_1", SenderID: "ou_person_1", Text: "汉字 😀 <b> & \"quoted\""})
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var again adapters.Message
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	again.SentAt, m.SentAt = again.SentAt.UTC(), m.SentAt.UTC()
	if !reflect.DeepEqual(&again, m) {
		t.Errorf("after JSON:\n got %+v\nwant %+v", &again, m)
	}
	if m.Text != "汉字 😀 <b> & \"quoted\"" {
		t.Errorf("text = %q", m.Text)
	}
	if m.SentAt.IsZero() {
		t.Error("SentAt is zero")
	}
	if len(m.Raw) == 0 || m.RawType == "" {
		t.Error("the platform's own content is not kept")
	}
}

func directAndGroup(t *testing.T, b *bench) {
	direct := b.received(message("om_direct"))
	if direct.Chat.Type != adapters.Direct || !direct.Mentioned {
		t.Errorf("direct chat: type %q, mentioned %v; want direct, true", direct.Chat.Type, direct.Mentioned)
	}
	group := b.received(Message{ID: "om_group", ChatID: "oc_group_1", SenderID: "ou_person_2", Text: "hello"})
	if group.Chat.Type != adapters.Group || !group.Mentioned {
		t.Errorf("mentioned in a group: type %q, mentioned %v; want group, true", group.Chat.Type, group.Mentioned)
	}
	if group.Chat.ID != "oc_group_1" || group.Sender.ID != "ou_person_2" {
		t.Errorf("chat %q, sender %q", group.Chat.ID, group.Sender.ID)
	}
	if group.Text != "hello" {
		t.Errorf("text = %q, want it without the mention of the bot", group.Text)
	}
	if group.Sender.IsBot {
		t.Error("a person counts as a bot")
	}
}

func manyChats(t *testing.T, b *bench) {
	const chats, each = 20, 10
	var ids []string
	for i := range each {
		for c := range chats {
			id := fmt.Sprintf("om_%d_%d", c, i)
			ids = append(ids, id)
			b.Platform.Push(Message{ID: id, ChatID: fmt.Sprintf("oc_%d", c), SenderID: "ou_person_1", Text: "hello", Direct: true})
		}
	}
	for _, id := range ids {
		b.until(id+" is acknowledged", func() bool { return b.Platform.Acks(id) > 0 })
		if b.sink.count(id) == 0 {
			t.Errorf("%s was acknowledged without reaching the sink", id)
		}
	}
}

func garbage(t *testing.T, b *bench) {
	for _, payload := range []string{
		"", "null", "[]", "{}", `"text"`, "42", "{", "\x00\xff\xfe", `{"schema":"2.0"}`,
		`{"schema":"2.0","header":{"event_type":"im.message.receive_v1"}}`,
		`{"schema":"2.0","header":null,"event":null}`,
		`{"schema":"2.0","header":{"event_type":"im.message.receive_v1","event_id":"e"},"event":{"sender":null,"message":null}}`,
		`{"schema":"2.0","header":{"event_type":"im.message.receive_v1","event_id":"e"},"event":{"sender":{"sender_id":[]},"message":"x"}}`,
		`{"msgtype":"text","text":null,"msgId":null}`,
		`{"msgtype":{},"text":"x","msgId":7,"createAt":"x"}`,
	} {
		b.Platform.PushGarbage([]byte(payload))
	}
	m := message("om_after_garbage")
	b.Platform.Push(m)
	b.until("a good message after garbage is acknowledged", func() bool { return b.Platform.Acks(m.ID) == 1 })
	for _, got := range b.sink.Messages() {
		if got.ID == "" {
			t.Errorf("a message without id reached the sink: %+v", got)
		}
	}
}

func forgeries(t *testing.T, b *bench) {
	forger, ok := b.Platform.(Forger)
	if !ok {
		t.Skip("the transport authenticates the connection, not each delivery")
	}
	for variant := 0; ; variant++ {
		m := message(fmt.Sprintf("om_forged_%d", variant))
		status, ok := forger.PushForged(m, variant)
		if !ok {
			if variant == 0 {
				t.Fatal("no forgery to try")
			}
			return
		}
		if status != 401 {
			t.Errorf("forgery %d: status %d, want 401", variant, status)
		}
		if b.sink.count(m.ID) != 0 || b.Platform.Acks(m.ID) != 0 {
			t.Errorf("forgery %d was taken", variant)
		}
	}
}

func status(t *testing.T, b *bench) {
	s := b.Adapter.Status()
	if !s.Connected || s.ConnectedAt.IsZero() || s.Mode == "" || s.Error != "" {
		t.Errorf("status of a running adapter: %+v", s)
	}
	b.received(message("om_status"))
	b.until("the last event is in the status", func() bool { return !b.Adapter.Status().LastEventAt.IsZero() })
	b.stop()
	if s := b.Adapter.Status(); s.Connected || !s.ConnectedAt.IsZero() || s.Error != "" {
		t.Errorf("status of a stopped adapter: %+v", s)
	}
}
