package command

import (
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/gateway/schedule"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
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
	// maxOwnTasks bounds the tasks of a person, and maxChatTasks those that are delivered
	// to one chat.
	maxOwnTasks  = 50
	maxChatTasks = 50
	// maxListed bounds what /task list shows, maxLooked what is looked at for it.
	maxListed = 30
	maxLooked = 500
	// shownPrompt is how much of a prompt a list shows, in characters.
	shownPrompt = 40
	// shownTime is how times are written for people.
	shownTime = "2006-01-02 15:04:05"
)

// task is /task add|list|pause|resume|delete.
func task(c *Call) (string, error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(c.Args), " ")
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(word) {
	case "add", "添加", "新建":
		return c.addTask(rest)
	case "", "list", "列表":
		return c.listTasks(c.AccountAdmin && (rest == "all" || rest == "全部"))
	case "pause", "暂停":
		return c.withTask(rest, c.pauseTask)
	case "resume", "恢复":
		return c.withTask(rest, c.resumeTask)
	case "delete", "删除":
		return c.withTask(rest, c.deleteTask)
	default:
		return text.Say(c.Lang, text.TaskUsage), nil
	}
}

// owner is the sender as the owner of tasks.
func (c *Call) owner() string { return c.Channel + "/" + c.Account + "/" + c.SenderID }

// chat is the chat that the command was given in, as tasks are delivered to it.
func (c *Call) chat() *store.TaskChat {
	chat := &store.TaskChat{Channel: c.Channel, Account: c.Account}
	if c.Direct {
		chat.UserID = c.SenderID
	} else {
		chat.ChatID = c.ChatID
	}
	return chat
}

func (c *Call) addTask(said string) (string, error) {
	t := c.Tasks.NewTask(c.owner())
	loc, err := time.LoadLocation(t.Timezone)
	if err != nil {
		return "", err
	}
	draft, err := schedule.Read(said, c.Now, loc)
	if err != nil {
		return c.notUnderstood(err), nil
	}
	t.ID = "t-" + strings.ToLower(rand.Text()[:10])
	say, _, err := c.makeTask(t, draft)
	return say, err
}

// makeTask stores what a draft asks for, delivered to where it was asked, and reports
// whether it could be. Nothing can be sent to a terminal: there the answers stay in the
// sessions of the runs.
func (c *Call) makeTask(t *models.Task, draft *schedule.Draft) (say string, made bool, err error) {
	t.CreatedAt = c.Now.UTC().Truncate(time.Millisecond)
	t.Schedule, t.At, t.Prompt, t.AgentID = draft.Schedule, draft.At, draft.Prompt, c.Session.AgentID
	if c.Channel != key.ChannelCLI {
		chat := c.chat()
		t.Deliver = &models.TaskTarget{Channel: chat.Channel, Account: chat.Account, ChatID: chat.ChatID, UserID: chat.UserID}
		if !c.Direct {
			t.Deliver.ThreadID = c.ThreadID
		}
	}
	if err := c.Tasks.PrepareTask(t); err != nil {
		if errors.Is(err, store.ErrInvalid) {
			return c.notUnderstood(err), false, nil
		}
		return "", false, err
	}
	own, err := c.Tx.Tasks(store.TaskQuery{Owner: t.Owner, Limit: maxOwnTasks})
	if err != nil {
		return "", false, err
	}
	if len(own) >= maxOwnTasks {
		return text.Say(c.Lang, text.TaskTooMany, len(own)), false, nil
	}
	here, err := c.Tx.Tasks(store.TaskQuery{Chat: c.chat(), Limit: maxChatTasks})
	if err != nil {
		return "", false, err
	}
	if len(here) >= maxChatTasks {
		return text.Say(c.Lang, text.TaskTooManyHere, len(here)), false, nil
	}
	if err := c.Tx.CreateTask(t); err != nil {
		return "", false, err
	}
	return text.Say(c.Lang, text.TaskAdded, t.ID, c.when(t), t.Timezone), true, nil
}

// notUnderstood says what is wrong with a time or a task.
func (c *Call) notUnderstood(err error) string {
	switch {
	case errors.Is(err, schedule.ErrPhrase):
		return text.Say(c.Lang, text.TaskUsage)
	case errors.Is(err, schedule.ErrPast):
		return text.Say(c.Lang, text.TaskPassed)
	}
	return c.badTime(err)
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

// listTasks shows the sender's tasks and those of the chat, or all of the account.
func (c *Call) listTasks(all bool) (string, error) {
	q := store.TaskQuery{Owner: c.owner(), Chat: c.chat(), Limit: maxListed}
	if all {
		q = store.TaskQuery{Limit: maxLooked}
	}
	tasks, err := c.Tx.Tasks(q)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, t := range tasks {
		if len(lines) < maxListed && (!all || c.isHere(t)) {
			lines = append(lines, c.taskLine(t))
		}
	}
	if len(lines) == 0 {
		return text.Say(c.Lang, text.TaskNone), nil
	}
	return strings.Join(lines, "\n"), nil
}

func (c *Call) taskLine(t *models.Task) string {
	spec := t.Schedule
	if t.At != nil {
		spec = text.Say(c.Lang, text.TaskOnce)
	}
	return text.Say(c.Lang, text.TaskLine, t.ID, spec, c.when(t), t.Timezone, short(t.Prompt))
}

func short(prompt string) string {
	runes := []rune(strings.Join(strings.Fields(prompt), " "))
	if len(runes) > shownPrompt {
		return string(runes[:shownPrompt]) + "…"
	}
	return string(runes)
}

// isHere reports whether a task is the account's: delivered there, or of one of its people.
func (c *Call) isHere(t *models.Task) bool {
	return t.Deliver != nil && t.Deliver.Channel == c.Channel && t.Deliver.Account == c.Account ||
		strings.HasPrefix(t.Owner, c.Channel+"/"+c.Account+"/")
}

// withTask does something to a task that is the sender's, or for an administrator
// one of the chat's, or of the account's.
func (c *Call) withTask(id string, do func(*models.Task) (string, error)) (string, error) {
	id = strings.Trim(id, "`")
	t, err := c.Tx.Task(id)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && t.Owner != c.owner() && !c.isHere(t): // not even that there is one
		return text.Say(c.Lang, text.TaskMissing, id), nil
	case err != nil:
		return "", err
	case t.Owner != c.owner() && !c.AccountAdmin && !(c.Admin && c.isOfChat(t)):
		return text.Say(c.Lang, text.TaskForeign), nil
	}
	return do(t)
}

func (c *Call) pauseTask(t *models.Task) (string, error) {
	t.Paused, t.NextRunAt = true, nil
	return text.Say(c.Lang, text.TaskPaused, t.ID), c.Tx.UpdateTask(t)
}

// resumeTask lets a task go on with its next time; earlier ones are over.
func (c *Call) resumeTask(t *models.Task) (string, error) {
	t.Paused, t.Failures = false, 0
	next, err := schedule.First(t, c.Now)
	if err != nil {
		return "", err
	}
	if t.NextRunAt = next; next == nil {
		return text.Say(c.Lang, text.TaskPassed), nil
	}
	return text.Say(c.Lang, text.TaskResumed, t.ID, c.when(t), t.Timezone), c.Tx.UpdateTask(t)
}

func (c *Call) deleteTask(t *models.Task) (string, error) {
	return text.Say(c.Lang, text.TaskDeleted, t.ID), c.Tx.DeleteTask(t.ID)
}
