package gateway

import (
	"context"
	"time"

	"github.com/chatkeep/chatkeep/gateway/live"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// messageEvent is an event about a message.
func messageEvent(t live.Type, in *models.Inbound) live.Event {
	return live.Event{
		Type: t, SessionKey: in.SessionKey, Slot: in.Slot, InboundID: in.ID, Channel: in.Channel, Account: in.Account,
		Kind: string(in.Kind), State: string(in.State), Code: string(in.Code),
	}
}

// announceAccepted tells of a message that was stored, and did not come before.
func (g *Gateway) announceAccepted(accepted *store.Accepted) {
	if in := accepted.Inbound; in != nil && !accepted.Duplicate {
		g.live.Publish(messageEvent(live.MessageAccepted, in))
	}
}

// finished tells a message's outcome to whoever waits for it, and to operators.
func (g *Gateway) finished(in *models.Inbound) {
	g.hub.Done(in)
	g.live.Publish(messageEvent(live.MessageState, in))
}

// waitsAgain tells that a message which had its outcome is to be answered after all.
func (g *Gateway) waitsAgain(inboundID, session string) {
	g.hub.Reopened(inboundID)
	g.live.Publish(live.Event{Type: live.MessageState, SessionKey: session, InboundID: inboundID, State: string(models.InboundReceived)})
}

// queued sets going what was stored for sending.
func (g *Gateway) queued(deliveries []*models.Delivery) {
	g.announceQueued(deliveries)
	g.outbox.nudge()
}

func (g *Gateway) announceQueued(deliveries []*models.Delivery) {
	for _, d := range deliveries {
		if d.State == models.DeliveryPending {
			g.live.Publish(deliveryEvent(d))
		}
	}
}

func deliveryEvent(d *models.Delivery) live.Event {
	return live.Event{
		Type: live.DeliveryState, SessionKey: d.SessionKey, InboundID: d.InboundID, DeliveryID: d.ID,
		Channel: d.Channel, Account: d.Account, Kind: string(d.Kind), State: string(d.State), Attempts: d.Attempts,
	}
}

// announceRun tells how far a task's run is.
func (g *Gateway) announceRun(run *models.TaskRun) {
	g.live.Publish(live.Event{
		Type: live.TaskRun, TaskID: run.TaskID, RunID: run.ID, SessionKey: run.SessionKey, State: string(run.State),
	})
}

// announceJob tells that a job on sessions made a pass.
func (g *Gateway) announceJob(run *store.JobRun) {
	state := "ok"
	if run.Error != "" {
		state = "failed"
	}
	g.live.Publish(live.Event{
		Type: live.JobFinished, Job: run.Job, State: state, Considered: run.Considered, Changed: run.Changed, Skipped: run.Skipped,
		DurationMs: run.FinishedAt.Sub(run.StartedAt).Milliseconds(),
	})
}

// connectionPoll is how often the accounts' connections are looked at: adapters keep
// them to themselves.
const connectionPoll = time.Second

// watchConnections tells of connections that go up or down, until ctx ends.
func (g *Gateway) watchConnections(ctx context.Context) {
	if len(g.adapters) == 0 {
		return
	}
	was := make(map[accountID]bool, len(g.adapters))
	for ; ctx.Err() == nil; _ = clock.Sleep(ctx, g.clock, connectionPoll) {
		for id, a := range g.adapters {
			is := a.Status().Connected
			if is == was[id] {
				continue
			}
			was[id] = is
			state := "disconnected"
			if is {
				state = "connected"
			}
			g.live.Publish(live.Event{Type: live.ChannelState, Channel: id.channel, Account: id.account, State: state})
		}
	}
}
