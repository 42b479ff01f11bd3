package gateway

import (
	"fmt"
	"strings"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// splitOwner reads an owner that is a person: channel, account and id.
func splitOwner(owner string) (channel, account, userID string, ok bool) {
	parts := strings.SplitN(owner, "/", 3)
	if len(parts) != 3 {
		return "", "", "", false
	}
	return parts[0], parts[1], parts[2], true
}

// Decide counts failures: the owner is told once there are enough in a row, or if a
// task that comes once failed, and a task with too many is paused.
func (w taskWork) Decide(run *models.TaskRun) func(*models.Task) store.Verdict {
	bad := run.State == models.RunFailed || run.State == models.RunTimeout || run.DeliveryState == models.RunDeliveryFailed
	return func(t *models.Task) store.Verdict {
		if !bad {
			t.Failures = 0
			return store.Verdict{}
		}
		t.Failures++
		over := t.NextRunAt == nil && !t.Paused
		pause := t.PauseAfter > 0 && t.Failures >= t.PauseAfter && !t.Paused && !over
		tell := t.NotifyAfter > 0 && (t.Failures == t.NotifyAfter || over && t.Failures <= t.NotifyAfter)
		id := text.TaskFails
		if pause {
			t.Paused, t.NextRunAt, id = true, nil, text.TaskPausedItself
		}
		if !pause && !tell {
			return store.Verdict{}
		}
		w.g.log.Warn("task fails", "task", t.ID, "run", run.ID, "state", run.State, "delivery", run.DeliveryState, "failures", t.Failures, "paused", t.Paused)
		return w.g.ownerNotice(t, id, run)
	}
}

// ownerNotice tells a task's owner, if that is a person, in a direct message. On the
// API channel messages are read where they are kept: in the person's own chat.
func (g *Gateway) ownerNotice(t *models.Task, id text.ID, run *models.TaskRun) store.Verdict {
	channel, account, userID, ok := splitOwner(t.Owner)
	chat, known := g.settings.Load().Chat(channel, account, "")
	if !ok || !known {
		return store.Verdict{}
	}
	var v store.Verdict
	notice := models.Delivery{
		Channel: channel, Account: account, Target: models.Target{UserID: userID, Direct: true},
		State: models.DeliveryPending, Kind: models.DeliveryNotice, CreatedAt: g.now(),
	}
	if channel == key.ChannelAPI {
		session, err := g.chatSession(channel, account, notice.Target)
		if err != nil {
			g.log.Error("owner of a task cannot be told", "task", t.ID, "error", err)
			return v
		}
		v.Remember, notice.Kind = session, models.DeliveryPush
	}
	lang := text.Choose(chat.Language, t.Prompt)
	texts := []string{text.Say(lang, id, t.ID, t.Failures, runCode(run))}
	if t.Failures == 1 && !t.Paused {
		texts[0] = text.Say(lang, text.TaskFailed, t.ID, runCode(run))
	}
	if sender := g.sender(channel, account); sender != nil { // else a replica that has the account sends it
		texts = sender.Render(adapters.Answer{Text: texts[0], Target: notice.Target, Kind: notice.Kind})
	}
	v.Deliveries = pieces(notice, texts...)
	return v
}

// runCode is the short code by which a run is found in the log.
func runCode(run *models.TaskRun) string {
	return fmt.Sprintf("E-%s", run.InboundID[max(0, len(run.InboundID)-6):])
}
