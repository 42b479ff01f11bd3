package main

import (
	"cmp"
	"net/http"
	"time"

	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/schedule"
	"github.com/chatkeep/chatkeep/internal/dial"
	"github.com/chatkeep/chatkeep/models"
)

// hookTimeout bounds one post of a task's answer.
const hookTimeout = 20 * time.Second

// taskHooks makes the client that posts tasks' answers to URLs: to public addresses,
// and of private ones to those that the configuration names. Redirects are not followed,
// so that an answer goes nowhere else. The guard is the client's.
func taskHooks(cfg *config.Config) (*http.Client, *dial.Guard, error) {
	var named []string
	for i := range cfg.Tasks {
		if d := cfg.Tasks[i].Deliver; d != nil && d.URL != "" {
			named = append(named, hostPort(d.URL.Reveal()))
		}
	}
	policy, err := dial.ParsePolicy(cfg.Egress.AllowPrivate, named)
	if err != nil {
		return nil, nil, err
	}
	guard := dial.New(policy)
	client := guard.HTTPClient(hookTimeout)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client, guard, nil
}

// configuredTasks are the tasks of the configuration, as they are stored.
func configuredTasks(cfg *config.Config, g *gateway.Gateway) []*models.Task {
	out := make([]*models.Task, len(cfg.Tasks))
	for i, from := range cfg.Tasks {
		t := g.NewTask(models.OwnerConfig)
		t.ID, t.Schedule, t.Prompt, t.AgentID = from.ID, from.Schedule, from.Prompt, from.Agent
		t.Timezone = zoneName(cmp.Or(from.Timezone, cfg.Timezone))
		t.Session, t.Missed = models.TaskSession(from.Session), models.MissedPolicy(from.Missed)
		t.Grace, t.Timeout = from.Grace.Std(), from.Timeout.Std()
		t.Retries, t.NotifyAfter, t.PauseAfter, t.MaxRuns = from.Retries, from.NotifyAfter, from.PauseAfter, from.MaxRuns
		if !from.At.IsZero() {
			t.At = &from.At
		}
		if !from.Until.IsZero() {
			t.Until = &from.Until
		}
		if d := from.Deliver; d != nil {
			t.Deliver = &models.TaskTarget{
				Channel: d.Channel, Account: d.Account, ChatID: d.ChatID, ThreadID: d.ThreadID, UserID: d.UserID,
				URL: d.URL.Reveal(), Secret: d.Secret.Reveal(),
			}
		}
		out[i] = t
	}
	return out
}

// zoneName is the IANA name of a configured zone, of the machine's own too.
func zoneName(name string) string {
	loc, err := time.LoadLocation(name)
	if err != nil {
		return name // the configuration was checked
	}
	return schedule.ZoneName(loc)
}
