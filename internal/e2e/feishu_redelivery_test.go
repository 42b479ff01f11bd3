package e2e

import (
	"path/filepath"
	"testing"

	"github.com/chatkeep/chatkeep/store/gormstore"
)

func TestFeishuRedeliveredMessageHasOneAnswer(t *testing.T) {
	w := onFeishu(t)
	w.start()
	id := w.say("hello")
	w.acked(id, 1)
	w.settled()
	w.platform.Redeliver(id)
	w.acked(id, 2)
	w.settled()
	w.answeredOnce(id)
}

func TestFeishuRedeliveryAfterRestartHasOneAnswer(t *testing.T) {
	w := onFeishu(t)
	path := filepath.Join(t.TempDir(), "chat.db")
	w.store = open(t, gormstore.SQLite, path)
	first := w.start()
	id := w.say("hello")
	w.acked(id, 1)
	w.settled()
	first.stop()
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	w.store = open(t, gormstore.SQLite, path)
	closing(t, w.store)
	w.start()
	w.platform.Redeliver(id)
	w.acked(id, 2)
	w.settled()
	w.answeredOnce(id)
}

func TestFeishuRedeliveryToAnotherReplicaHasOneAnswer(t *testing.T) {
	w := onFeishu(t)
	one, other := openMySQL(t)
	w.store = one
	first := w.start()
	id := w.say("hello")
	w.acked(id, 1)
	w.settled()
	w.startOn(other)
	first.stop()
	w.platform.Redeliver(id)
	w.acked(id, 2)
	w.settled()
	w.answeredOnce(id)
}

func TestFeishuRedeliveryDuringTheTurnHasOneAnswer(t *testing.T) {
	w := onFeishu(t)
	release := w.hold()
	w.start()
	id := w.say("hello")
	w.asked(1)
	w.platform.Redeliver(id)
	w.acked(id, 2)
	release()
	w.settled()
	w.answeredOnce(id)
}

func TestFeishuTwentyDeliveriesAtOnceToTwoReplicasHaveOneAnswer(t *testing.T) {
	w := onFeishu(t)
	one, other := openMySQL(t)
	w.store = one
	w.start()
	w.startOn(other)
	id := w.say("hello")
	for range 19 {
		w.platform.Redeliver(id) // pushes, does not wait
	}
	w.acked(id, 20)
	w.settled()
	w.answeredOnce(id)
}
