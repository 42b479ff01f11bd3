package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/command"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// planner is an agent that does with its task tool what it is told, as "action|when or
// id|prompt", and answers with what the tool answered.
type planner struct {
	r    *rig
	mu   sync.Mutex
	last string // inbound id of the latest turn
}

func (p *planner) respond(ctx context.Context, req *agents.Request) (*agents.Response, error) {
	p.mu.Lock()
	p.last = req.InboundID
	p.mu.Unlock()
	parts := strings.SplitN(req.Text, "|", 3)
	if len(parts) < 2 {
		return answer("re: " + req.Text), nil
	}
	call := command.TaskRequest{Action: parts[0], ID: parts[1], Key: req.InboundID}
	if len(parts) == 3 {
		call.When, call.Prompt = parts[1], parts[2]
	}
	say, ok, err := p.r.gateway.TaskFromTurn(ctx, req.InboundID, call)
	if err != nil {
		return nil, err
	}
	again, okAgain, err := p.r.gateway.TaskFromTurn(ctx, req.InboundID, call)
	if call.Action == "add" && ok && (again != say || !okAgain || err != nil) {
		return answer(fmt.Sprintf("made again it is %q, %v", again, err)), nil
	}
	return answer(fmt.Sprint(ok, " ", say)), nil
}

// A model schedules for the person it answers, in the chat it answers in, and acts on
// what is that person's there.
func TestTaskTool(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := &planner{r: r}
	r.mind.does(p.respond)
	r.start()
	n := 0
	ask := func(user, text string) string {
		t.Helper()
		n++
		return r.answers(said(fmt.Sprint("m", n), user, text))
	}
	yes := ask("lin", "add|every weekday at 9:00|sum up yesterday")
	rest, ok := strings.CutPrefix(yes, "true ")
	if !ok {
		t.Fatalf("add: %q", yes)
	}
	id := added(t, rest)
	task := r.task(id)
	if task.Owner != "chat/main/lin" || *task.Deliver != (models.TaskTarget{Channel: "chat", Account: "main", ChatID: "group"}) ||
		task.Schedule != "0 9 * * 1-5" || task.Prompt != "sum up yesterday" {
		t.Errorf("task %+v to %+v", task, task.Deliver)
	}
	foreign := added(t, r.answers(said("f1", "bob", "/task add every 1h of bob")))
	elsewhere := said("f2", "lin", "/task add every 1h in another group")
	elsewhere.Chat.ID = "other"
	other := added(t, r.answers(elsewhere))
	if list := ask("lin", "list|"); !strings.Contains(list, id) || !strings.Contains(list, foreign) || strings.Contains(list, other) {
		t.Errorf("list %q", list)
	}
	for text, want := range map[string]string{
		"delete|" + foreign: "false that task is not of the person", "pause|" + other: "false There is no task", "delete|nothing": "false There is no task",
		"add|soon|x": `false "when" was not understood`, "add|tomorrow 18:00 sharp|x": `false "when"`, "add|every 1h| ": `false "prompt" is missing`,
		"add|2020-01-01 9:00|x": "false That time has passed", "frob|x": "false action must be", "pause|" + id: "true Task",
	} {
		if got := ask("lin", text); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if !r.task(id).Paused {
		t.Error("it is not paused")
	}
	if got := ask("lin", "resume|"+id); !strings.HasPrefix(got, "true") || r.task(id).Paused {
		t.Errorf("resume: %q", got)
	}
	if got := ask("lin", "delete|"+id); !strings.HasPrefix(got, "true") {
		t.Errorf("delete: %q", got)
	}
	if _, _, err := r.gateway.TaskFromTurn(context.Background(), p.last, command.TaskRequest{Action: "list"}); !errors.Is(err, gateway.ErrTurnOver) {
		t.Errorf("after the turn: %v", err)
	}
}

// The run of a task makes no tasks, and ends none but itself.
func TestTaskToolInARun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.mind.does((&planner{r: r}).respond)
	r.start()
	other := added(t, r.answers(said("m1", "lin", "/task add every 1h x")))
	for i, c := range []struct{ prompt, want string }{
		{"add|every 1m|more", "false a scheduled task cannot schedule tasks"},
		{"delete|" + other, "false a scheduled task can change itself alone"},
		{"list|", "true"},
		{"delete|self3", "true Task self3 is deleted."},
	} {
		id := fmt.Sprint("self", i)
		r.scheduled(id, func(t *models.Task) { t.Prompt = c.prompt })
		r.until(c.prompt+" is answered", func() bool {
			for _, line := range r.platform.screen() {
				if strings.HasPrefix(line, c.want) {
					return true
				}
			}
			return false
		})
	}
	if tasks, _, err := r.store.ListTasks(context.Background(), store.TaskQuery{}); err != nil || len(tasks) != 4 {
		t.Errorf("%d tasks, %v", len(tasks), err)
	}
}
