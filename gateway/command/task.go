package command

import (
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/gateway/schedule"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Tasks makes tasks; the gateway knows what they may be.
type Tasks interface {
	// NewTask returns a task with the defaults.
	NewTask(owner string) *models.Task
	// PrepareTask checks a task and sets its next time.
	PrepareTask(t *models.Task) error
}

const (
	// maxOwnTasks bounds the tasks of a person.
	maxOwnTasks = 50
	// maxListed bounds what /task list shows.
	maxListed = 30
	// shownPrompt is how much of a prompt a list shows, in characters.
	shownPrompt = 40
	// shownTime is how times are written for people.
	shownTime = "2006-01-02 15:04:05"
)

// task is /task add|list|pause|delete.
func task(c *Call) (string, error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(c.Args), " ")
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(word) {
	case "add", "添加", "新建":
		return c.addTask(rest)
	case "", "list", "列表":
		return c.listTasks()
	case "pause", "暂停":
		return c.withTask(rest, func(t *models.Task) (string, error) {
			t.Paused, t.NextRunAt = true, nil
			return text.Say(c.Lang, text.TaskPaused, t.ID), c.Tx.UpdateTask(t)
		})
	case "delete", "删除":
		return c.withTask(rest, func(t *models.Task) (string, error) {
			return text.Say(c.Lang, text.TaskDeleted, t.ID), c.Tx.DeleteTask(t.ID)
		})
	default:
		return text.Say(c.Lang, text.TaskUsage), nil
	}
}

func (c *Call) owner() string { return c.Channel + "/" + c.Account + "/" + c.SenderID }

func (c *Call) addTask(said string) (string, error) {
	t := c.Tasks.NewTask(c.owner())
	t.ID, t.CreatedAt = "t-"+strings.ToLower(rand.Text()[:10]), c.Now.UTC().Truncate(time.Millisecond)
	loc, err := time.LoadLocation(t.Timezone)
	if err != nil {
		return "", err
	}
	draft, err := schedule.Read(said, c.Now, loc)
	switch {
	case errors.Is(err, schedule.ErrPhrase):
		return text.Say(c.Lang, text.TaskUsage), nil
	case errors.Is(err, schedule.ErrPast):
		return text.Say(c.Lang, text.TaskPassed), nil
	case err != nil:
		return text.Say(c.Lang, text.TaskBadTime, err.Error()), nil
	}
	t.Schedule, t.At, t.Prompt, t.AgentID = draft.Schedule, draft.At, draft.Prompt, c.Session.AgentID
	t.Deliver = &models.TaskTarget{Channel: c.Channel, Account: c.Account}
	if c.Direct {
		t.Deliver.UserID = c.SenderID
	} else {
		t.Deliver.ChatID, t.Deliver.ThreadID = c.ChatID, c.ThreadID
	}
	if err := c.Tasks.PrepareTask(t); err != nil {
		if errors.Is(err, store.ErrInvalid) {
			return text.Say(c.Lang, text.TaskBadTime, strings.TrimPrefix(err.Error(), store.ErrInvalid.Error()+": ")), nil
		}
		return "", err
	}
	own, err := c.Tx.Tasks(store.TaskQuery{Owner: t.Owner, Limit: maxOwnTasks})
	if err != nil {
		return "", err
	}
	if len(own) >= maxOwnTasks {
		return text.Say(c.Lang, text.TaskTooMany, len(own)), nil
	}
	if err := c.Tx.CreateTask(t); err != nil {
		return "", err
	}
	return text.Say(c.Lang, text.TaskAdded, t.ID, c.when(t), t.Timezone), nil
}

// when is a task's next time in its zone.
func (c *Call) when(t *models.Task) string {
	switch {
	case t.Paused:
		return text.Say(c.Lang, text.TaskIsPaused)
	case t.NextRunAt == nil:
		return text.Say(c.Lang, text.TaskNever)
	}
	at := *t.NextRunAt
	if loc, err := time.LoadLocation(t.Timezone); err == nil {
		at = at.In(loc)
	}
	return at.Format(shownTime)
}

// listTasks shows the sender's tasks and those of the chat.
func (c *Call) listTasks() (string, error) {
	chat := &store.TaskChat{Channel: c.Channel, Account: c.Account}
	if c.Direct {
		chat.UserID = c.SenderID
	} else {
		chat.ChatID = c.ChatID
	}
	tasks, err := c.Tx.Tasks(store.TaskQuery{Owner: c.owner(), Chat: chat, Limit: maxListed})
	if err != nil {
		return "", err
	}
	if len(tasks) == 0 {
		return text.Say(c.Lang, text.TaskNone), nil
	}
	lines := make([]string, len(tasks))
	for i, t := range tasks {
		spec := t.Schedule
		if t.At != nil {
			spec = "1x"
		}
		lines[i] = text.Say(c.Lang, text.TaskLine, t.ID, spec, c.when(t), t.Timezone, short(t.Prompt))
	}
	return strings.Join(lines, "\n"), nil
}

func short(prompt string) string {
	runes := []rune(strings.Join(strings.Fields(prompt), " "))
	if len(runes) > shownPrompt {
		return string(runes[:shownPrompt]) + "…"
	}
	return string(runes)
}

// withTask does something to a task that is the sender's, or for an administrator
// one of the account's.
func (c *Call) withTask(id string, do func(*models.Task) (string, error)) (string, error) {
	id = strings.Trim(id, "`")
	t, err := c.Tx.Task(id)
	if errors.Is(err, store.ErrNotFound) {
		return text.Say(c.Lang, text.TaskMissing, id), nil
	}
	if err != nil {
		return "", err
	}
	here := t.Deliver != nil && t.Deliver.Channel == c.Channel && t.Deliver.Account == c.Account ||
		strings.HasPrefix(t.Owner, c.Channel+"/"+c.Account+"/")
	if t.Owner != c.owner() && !(c.Admin && here) {
		if !here {
			return text.Say(c.Lang, text.TaskMissing, id), nil // not even that there is one
		}
		return text.Say(c.Lang, text.TaskForeign), nil
	}
	return do(t)
}
