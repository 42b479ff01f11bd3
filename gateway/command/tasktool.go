package command

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/gateway/schedule"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// TaskRequest is what a model asks about the scheduled tasks of the chat that its turn
// belongs to. It may do what the person whom it answers may, in this chat alone.
type TaskRequest struct {
	// Action is add, list, pause, resume or delete.
	Action string
	// When and Prompt are of add.
	When   string
	Prompt string
	// ID names a task for the others.
	ID string
	// Key is the same whenever the same call of a turn is made again.
	Key string
	// Run is the task whose own run asks; empty in a person's turn.
	Run string
}

// Task carries a model's request out. What it answers is for the model; ok is false if
// it was refused.
func (c *Call) Task(r TaskRequest) (say string, ok bool, err error) {
	switch r.Action {
	case "add":
		return c.addFor(r)
	case "list":
		return c.listHere()
	case "pause":
		return c.changeTask(r, c.pauseTask)
	case "resume":
		return c.changeTask(r, c.resumeTask)
	case "delete":
		return c.changeTask(r, c.deleteTask)
	default:
		return "action must be add, list, pause, resume or delete", false, nil
	}
}

// addFor makes a task whose id follows from the call: made again, it finds its own.
func (c *Call) addFor(r TaskRequest) (string, bool, error) {
	if r.Run != "" {
		return "a scheduled task cannot schedule tasks", false, nil
	}
	t := c.Tasks.NewTask(c.owner())
	loc, err := time.LoadLocation(t.Timezone)
	if err != nil {
		return "", false, err
	}
	sum := sha256.Sum256([]byte(r.Key))
	t.ID = "t-" + hex.EncodeToString(sum[:5])
	there, err := c.Tx.Task(t.ID)
	if err == nil && there.Owner == t.Owner {
		return text.Say(c.Lang, text.TaskAdded, there.ID, c.when(there), there.Timezone), true, nil
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", false, err
	}
	draft, err := schedule.ReadTime(r.When, c.Now, loc)
	if errors.Is(err, schedule.ErrPhrase) {
		return `"when" was not understood; write five cron fields, "every 10m", "in 2 hours", "tomorrow 9:00", "every weekday at 9:00" or the like`, false, nil
	}
	if err != nil {
		return c.notUnderstood(err), false, nil
	}
	if draft.Prompt = strings.TrimSpace(r.Prompt); draft.Prompt == "" {
		return `"prompt" is missing: say what is to be done then`, false, nil
	}
	return c.makeTask(t, draft)
}

func (c *Call) listHere() (string, bool, error) {
	q := store.TaskQuery{Chat: c.chat(), Limit: maxListed}
	if c.Channel == key.ChannelCLI { // nothing is delivered there
		q = store.TaskQuery{Owner: c.owner(), Limit: maxListed}
	}
	tasks, err := c.Tx.Tasks(q)
	if err != nil {
		return "", false, err
	}
	if len(tasks) == 0 {
		return text.Say(c.Lang, text.TaskNone), true, nil
	}
	lines := make([]string, len(tasks))
	for i, t := range tasks {
		lines[i] = c.taskLine(t)
	}
	return strings.Join(lines, "\n"), true, nil
}

// changeTask acts on a task of this chat that is the person's own; in the run of a task, on
// that one alone.
func (c *Call) changeTask(r TaskRequest, do func(*models.Task) (string, error)) (string, bool, error) {
	t, err := c.Tx.Task(r.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return text.Say(c.Lang, text.TaskMissing, r.ID), false, nil
	case err != nil:
		return "", false, err
	case r.Run != "" && r.Run != t.ID:
		return "a scheduled task can change itself alone", false, nil
	case r.Run == "" && !c.isOfChat(t):
		return text.Say(c.Lang, text.TaskMissing, r.ID), false, nil
	case r.Run == "" && t.Owner != c.owner():
		return "that task is not of the person who asks", false, nil
	}
	say, err := do(t)
	return say, err == nil, err
}

// isOfChat reports whether a task is delivered to this chat, or was made at this terminal.
func (c *Call) isOfChat(t *models.Task) bool {
	d := t.Deliver
	if d == nil {
		return c.Channel == key.ChannelCLI && t.Owner == c.owner()
	}
	return *c.chat() == store.TaskChat{Channel: d.Channel, Account: d.Account, ChatID: d.ChatID, UserID: d.UserID}
}
