package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/gateway/schedule"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// PrepareTask checks a task and sets its next time. What can never run is [store.ErrInvalid].
func (g *Gateway) PrepareTask(t *models.Task) error {
	g.nameZone(t)
	if err := cmp.Or(g.checkTask(t), g.checkTaskOwner(t.Owner), g.checkTaskURL(t)); err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	next, err := schedule.First(t, g.now())
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	case next == nil && !t.Paused && t.Owner != models.OwnerConfig:
		return fmt.Errorf("%w: %w", store.ErrInvalid, schedule.ErrPast)
	}
	t.NextRunAt = next
	return nil
}

func (g *Gateway) checkTask(t *models.Task) error {
	s := g.settings.Load()
	switch _, known := s.Agents[t.AgentID]; {
	case !models.ValidName(t.ID):
		return errors.New("id needs 1 to 64 letters, digits, dots, dashes or underscores")
	case strings.TrimSpace(t.Prompt) == "":
		return errors.New("prompt is needed")
	case len(t.Prompt) > models.MaxPrompt:
		return fmt.Errorf("prompt is longer than %d bytes", models.MaxPrompt)
	case !known && s.Agents != nil:
		return fmt.Errorf("agent %q is not configured", t.AgentID)
	case t.Session != models.TaskPersistent && t.Session != models.TaskIsolated:
		return errors.New("session must be persistent or isolated")
	case t.Missed != models.MissedOnce && t.Missed != models.MissedSkip:
		return errors.New("missed must be once or skip")
	case t.Grace < 0 || t.Grace > models.MaxTaskSpan:
		return errors.New("grace must be 0s to 24h")
	case t.Timeout <= 0 || t.Timeout > models.MaxTaskSpan:
		return errors.New("timeout must be more than 0s and at most 24h")
	case t.Timezone == localZone:
		return errors.New("timezone must be an IANA name such as Asia/Shanghai: this machine's zone has none")
	case t.Retries < 0 || t.Retries > models.MaxTaskRetries:
		return fmt.Errorf("retries must be 0 to %d", models.MaxTaskRetries)
	case t.NotifyAfter < 0 || t.PauseAfter < 0 || t.MaxRuns < 0:
		return errors.New("notifyAfter, pauseAfter and maxRuns must not be negative")
	}
	if err := g.checkTaskTarget(t.Deliver); err != nil {
		return err
	}
	_, err := schedule.NewTimes(t)
	return err
}

// localZone is what Go calls the machine's zone.
const localZone = "Local"

// nameZone puts the name to a task's zone that is the machine's, or the configuration's
// where the machine's has none.
func (g *Gateway) nameZone(t *models.Task) {
	if t.Timezone != localZone {
		return
	}
	t.Timezone = schedule.ZoneName(time.Local) //nolint:gosmopolitan // it is asked for its name
	if t.Timezone == localZone {
		t.Timezone = schedule.ZoneName(g.settings.Load().Location)
	}
}

// hookURL is where a task's answer is posted; empty: nowhere.
func hookURL(t *models.Task) string {
	if t.Deliver == nil {
		return ""
	}
	return t.Deliver.URL
}

// checkTaskURL refuses a URL that cannot be reached for what it is; one with a name is
// looked at when something is posted there.
func (g *Gateway) checkTaskURL(t *models.Task) error {
	check, to := g.settings.Load().CheckTaskURL, hookURL(t)
	if check == nil || to == "" {
		return nil
	}
	if err := check(to); err != nil {
		return fmt.Errorf("deliver.url: %w; egress.allowPrivate can permit it", err)
	}
	return nil
}

// checkTaskOwner checks who is told of failures: a person of a configured account, or
// none.
func (g *Gateway) checkTaskOwner(owner string) error {
	if owner == models.OwnerConfig || owner == models.OwnerAdmin {
		return nil
	}
	channel, account, userID, ok := splitOwner(owner)
	if ok && userID != "" && len(userID) <= models.MaxForeignID {
		_, ok = g.settings.Load().Chat(channel, account, "")
	}
	if !ok {
		return errors.New("owner must be admin, or a person as channel/account/userId")
	}
	return nil
}

func (g *Gateway) checkTaskTarget(d *models.TaskTarget) error {
	if d == nil {
		return nil
	}
	given := 0
	for _, v := range []string{d.ChatID, d.UserID, d.URL} {
		if v != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New("deliver needs exactly one of chatId, userId and url")
	case d.ThreadID != "" && d.ChatID == "":
		return errors.New("deliver.threadId needs chatId")
	case d.URL == "" && d.Secret != "":
		return errors.New("deliver.secret needs url")
	case d.URL == "" && d.Channel == key.ChannelCLI:
		return errors.New("deliver: nothing can be sent to a terminal")
	case d.URL == "":
		_, err := g.chatSession(d.Channel, d.Account, (&runTarget{ChatID: d.ChatID, UserID: d.UserID, ThreadID: d.ThreadID, Direct: d.UserID != ""}).model())
		if err != nil {
			return fmt.Errorf("deliver: %w", err)
		}
		return nil
	case d.Channel != "" || d.Account != "":
		return errors.New("deliver.url stands alone")
	case len(d.Secret) > models.MaxSecret:
		return fmt.Errorf("deliver.secret is longer than %d bytes", models.MaxSecret)
	}
	u, err := url.Parse(d.URL)
	if err != nil || len(d.URL) > models.MaxURL || u.Host == "" || !slices.Contains([]string{"http", "https"}, u.Scheme) || u.User != nil {
		return errors.New("deliver.url needs a URL that begins with https:// or http://, without a password")
	}
	return nil
}
