package gateway_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/live"
	"github.com/chatkeep/chatkeep/models"
)

// shows reads events up to the first that is the one wanted, as "type state" words, and
// returns all of them.
func shows(t *testing.T, w *live.Watcher, wanted string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var all []string
	for {
		e, err := w.Next(ctx)
		if err != nil {
			t.Fatalf("waited in vain for %q: %v", wanted, all)
		}
		all = append(all, strings.TrimSpace(fmt.Sprint(e.Type, " ", e.State)))
		if all[len(all)-1] == wanted {
			return all
		}
	}
}

func follow(t *testing.T, g *gateway.Gateway, types ...live.Type) *live.Watcher {
	t.Helper()
	w, err := g.Live().Watch(live.Filter{Types: types}, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func TestLiveMessageAndDelivery(t *testing.T) {
	r := newRig(t)
	r.chat.Streaming = false
	r.start()
	w := follow(t, r.gateway, live.MessageAccepted, live.MessageState, live.DeliveryState)
	r.platform.fail(&adapters.SendError{Kind: adapters.Retry}, nil)
	r.say(said("m1", "lin", "hello"))
	got := shows(t, w, "delivery.state delivered")
	all := strings.Join(got, ", ")
	if strings.Count(all, "delivery.state pending") != 2 || got[0] != "message.accepted running" || !strings.Contains(all, "message.state done") {
		t.Errorf("events: %s", all)
	}
	r.platform.fail(&adapters.SendError{Kind: adapters.Refused})
	r.say(said("m2", "lin", "hello"))
	shows(t, w, "delivery.state failed")
	failed := r.deliveries()[0]
	if _, err := r.gateway.RetryDelivery(context.Background(), failed.ID); err != nil {
		t.Fatal(err)
	}
	equal(t, "a retry", shows(t, w, "delivery.state delivered")[:1], "delivery.state pending")
}

func TestLiveStoppedTurn(t *testing.T) {
	r := newRig(t).start()
	w := follow(t, r.gateway, live.MessageState, live.TurnFinished)
	r.say(said("m1", "lin", hold))
	r.running(hold)
	if _, err := r.gateway.Cancel(context.Background(), r.inbound("m1").SessionKey, false); err != nil {
		t.Fatal(err)
	}
	equal(t, "events", shows(t, w, "turn.finished stopped"), "message.state cancelled", "turn.finished stopped")
}

func TestLiveTaskRun(t *testing.T) {
	r := newRig(t).start()
	w := follow(t, r.gateway, live.TaskRun)
	r.scheduled("daily", nil)
	shows(t, w, "task.run done")
}

func TestLiveJob(t *testing.T) {
	r := newRig(t).start()
	w := follow(t, r.gateway, live.JobFinished)
	if _, err := r.gateway.RunJob(context.Background(), "idle", false); err != nil {
		t.Fatal(err)
	}
	shows(t, w, "job.finished ok")
}

// flaky is a platform whose connection comes and goes.
type flaky struct {
	*platform

	down atomic.Bool
}

func (f *flaky) Status() adapters.Status { return adapters.Status{Connected: !f.down.Load()} }

func TestLiveConnections(t *testing.T) {
	r := newRig(t)
	r.make() // for its settings
	p := &flaky{platform: r.platform}
	g, err := gateway.New(r.config, r.settings, r.store, []adapters.Adapter{p}, r.clock, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	w := follow(t, g, live.ChannelState)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	shows(t, w, "channel.state connected")
	p.down.Store(true)
	equal(t, "events", shows(t, w, "channel.state disconnected"), "channel.state disconnected")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := w.Next(context.Background()); err == nil {
		t.Error("the events go on though the gateway has ended")
	}
}

// TestLiveRetriedMessage waits again after an administrator said so.
func TestLiveRetriedMessage(t *testing.T) {
	r := newRig(t).start()
	w := follow(t, r.gateway, live.MessageState)
	r.say(said("m1", "lin", hold))
	r.running(hold)
	in := r.inbound("m1")
	if _, err := r.gateway.Cancel(context.Background(), in.SessionKey, false); err != nil {
		t.Fatal(err)
	}
	r.mind.release()
	if _, err := r.gateway.Retry(context.Background(), in.ID); err != nil {
		t.Fatal(err)
	}
	r.ends("m1", models.InboundDone)
	equal(t, "events", shows(t, w, "message.state done"), "message.state cancelled", "message.state received", "message.state done")
}
