package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// answers sends a command and returns what is answered.
func (r *rig) answers(m *adapters.Message) string {
	r.t.Helper()
	r.say(m)
	return r.ends(m.ID, models.InboundDone).Reply.Content
}

// added is the id of a task whose making was answered so.
func added(t *testing.T, answer string) string {
	t.Helper()
	words := strings.Fields(answer)
	if len(words) < 3 || words[0] != "Task" || words[2] != "added." {
		t.Fatalf("no task was added: %q", answer)
	}
	return words[1]
}

func inDirect(m *adapters.Message) *adapters.Message {
	m.Chat = adapters.Chat{ID: "p2p-" + m.Sender.ID, Type: adapters.Direct}
	return m
}

func TestTaskCommands(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.chat.Access.Admins = []string{"boss"}
	r.start()
	n := 0
	ask := func(user, text string) string {
		t.Helper()
		n++
		return r.answers(said(fmt.Sprint("c", n), user, text))
	}
	answer := ask("lin", `/task add "0 9 * * 1-5" sum up yesterday`)
	if !strings.Contains(answer, "09:00:00") {
		t.Fatalf("answer %q", answer)
	}
	id := added(t, answer)
	task := r.task(id)
	if task.Owner != "chat/main/lin" || task.Deliver.ChatID != "group" || task.Prompt != "sum up yesterday" || task.Timezone != "UTC" {
		t.Errorf("task %+v", task)
	}
	if no := ask("bob", "/task delete "+id); !strings.Contains(no, "somebody else") {
		t.Errorf("bob may delete: %q", no)
	}
	ask("lin", "/task pause "+id)
	if !r.task(id).Paused {
		t.Error("it is not paused")
	}
	if no := ask("bob", "/task resume "+id); !strings.Contains(no, "somebody else") || !r.task(id).Paused {
		t.Errorf("bob may resume: %q", no)
	}
	if yes := ask("lin", "/task resume "+id); !strings.Contains(yes, "goes on") || r.task(id).Paused || r.task(id).NextRunAt == nil {
		t.Errorf("resumed: %q, %+v", yes, r.task(id))
	}
	if yes := ask("boss", "/任务 暂停 `"+id+"`"); !strings.Contains(yes, "paused") {
		t.Errorf("boss pauses: %q", yes)
	}
	ask("boss", "/task delete "+id)
	if _, err := r.store.Task(context.Background(), id); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("it is there: %v", err)
	}
	for text, want := range map[string]string{
		"/task add": "Say when and what", "/task add tomorrow": "Say when and what", "/task": "There are no tasks", "/task frob": "Say when and what",
		"/task add 60 9 * * 1 x": "needs 5 cron fields", `/task add "TZ=0 9 * * *" x`: "zone", `/task add "@every 1ms" x`: "1s or more",
		`/task add "0 0 30 2 *" x`: "never comes", "/task add today 0:00 x": "has passed", "/task delete nothing": "no task",
		"/task resume": "no task", "/task pause " + strings.Repeat("x", 200): "no task",
	} {
		if got := ask("lin", text); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q in it", text, got, want)
		}
	}
	if tasks, _, err := r.store.ListTasks(context.Background(), store.TaskQuery{}); err != nil || len(tasks) != 0 {
		t.Errorf("tasks %v, %v", tasks, err)
	}
}

// People see their own tasks and those of the chat they ask in, administrators those of
// their account on demand; what is theirs is decided by their account and id alone.
func TestWhoSeesAndChangesTasks(t *testing.T) {
	t.Parallel()
	for _, apart := range []bool{false, true} {
		t.Run(fmt.Sprint("isolateMembers ", apart), func(t *testing.T) {
			r := newRig(t)
			r.chat.IsolateMembers = apart
			r.chat.Access.Admins = []string{"boss"}
			r.start()
			elsewhere := func(m *adapters.Message) *adapters.Message {
				m.Chat.ID = "other"
				return m
			}
			here := added(t, r.answers(said("a1", "lin", "/task add every 1h in the group")))
			there := added(t, r.answers(elsewhere(said("a2", "lin", "/task add every 1h in the other group"))))
			alone := added(t, r.answers(inDirect(said("a3", "lin", "/task add every 1h alone"))))
			ids := []string{here, there, alone}
			for i, c := range []struct {
				who  string
				m    *adapters.Message
				want [3]bool
			}{
				{"lin in the group", said("l1", "lin", "/task list"), [3]bool{true, true, true}},
				{"bob in the group", said("l2", "bob", "/task list"), [3]bool{true, false, false}},
				{"bob in the other group", elsewhere(said("l3", "bob", "/task list")), [3]bool{false, true, false}},
				{"bob alone", inDirect(said("l4", "bob", "/task list")), [3]bool{}},
				{"bob wants all", said("l5", "bob", "/task list all"), [3]bool{true, false, false}},
				{"boss alone", inDirect(said("l6", "boss", "/task list")), [3]bool{}},
				{"boss wants all", inDirect(said("l7", "boss", "/task list all")), [3]bool{true, true, true}},
			} {
				got := r.answers(c.m)
				for j, id := range ids {
					if strings.Contains(got, id) != c.want[j] {
						t.Errorf("%d: %s sees %q", i, c.who, got)
					}
				}
			}
			for i, id := range ids {
				if no := r.answers(said(fmt.Sprint("d", i), "bob", "/task delete "+id)); !strings.Contains(no, "somebody else") {
					t.Errorf("bob deletes: %q", no)
				}
				if yes := r.answers(said(fmt.Sprint("e", i), "boss", "/task delete "+id)); !strings.Contains(yes, "deleted") {
					t.Errorf("boss deletes: %q", yes)
				}
			}
		})
	}
}

// On the API channel tasks are those of a user of the account. What others have is not
// even there.
func TestTaskCommandsOnTheAPIChannel(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.known = func(channel string) bool { return channel == "api" }
	r.start()
	n := 0
	ask := func(user, text string) string {
		t.Helper()
		n++
		m := inDirect(said(fmt.Sprint("api", n), user, text))
		m.Chat.ID = ""
		id := models.NewID("inb")
		if err := r.accept(m, func(in *gateway.Incoming) { in.ID, in.Channel, in.Pulled = id, "api", true }); err != nil {
			t.Fatal(err)
		}
		var answer string
		r.until(text+" is answered", func() bool {
			in, err := r.store.Inbound(context.Background(), id)
			if err != nil || in.Reply == nil {
				return false
			}
			answer = in.Reply.Content
			return true
		})
		return answer
	}
	mine := added(t, ask("lin", "/task add every 1h report"))
	platforms := added(t, r.answers(said("m1", "lin", "/task add every 1h report")))
	if task := r.task(mine); task.Owner != "api/main/lin" || *task.Deliver != (models.TaskTarget{Channel: "api", Account: "main", UserID: "lin"}) {
		t.Errorf("task %+v to %+v", task, task.Deliver)
	}
	if list := ask("lin", "/task list"); !strings.Contains(list, mine) || strings.Contains(list, platforms) {
		t.Errorf("lin sees %q", list)
	}
	if list := ask("bob", "/task list"); !strings.Contains(list, "no tasks") {
		t.Errorf("bob sees %q", list)
	}
	if no := ask("bob", "/task delete "+mine); !strings.Contains(no, "somebody else") {
		t.Errorf("bob deletes: %q", no)
	}
	if no := ask("lin", "/task delete "+platforms); !strings.Contains(no, "no task") {
		t.Errorf("another channel's lin deletes: %q", no)
	}
	if yes := ask("lin", "/task delete "+mine); !strings.Contains(yes, "deleted") {
		t.Errorf("lin deletes: %q", yes)
	}
}

func TestTasksOfAPersonAndAChatAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.make()
	ctx := context.Background()
	for i := range 50 {
		task := r.gateway.NewTask(fmt.Sprint("chat/main/u", i))
		task.ID, task.Schedule, task.Prompt, task.AgentID = fmt.Sprint("t", i), "0 0 1 1 *", "x", "assistant"
		task.Deliver = &models.TaskTarget{Channel: "chat", Account: "main", ChatID: "group"}
		if i >= 25 {
			task.Owner, task.Deliver = "chat/main/lin", &models.TaskTarget{Channel: "chat", Account: "main", ChatID: fmt.Sprint(i)}
		}
		if _, err := r.gateway.CreateTask(ctx, task); err != nil {
			t.Fatal(err)
		}
	}
	r.start()
	for i := range 25 {
		added(t, r.answers(said(fmt.Sprint("m", i), "lin", "/task add every 1h x")))
	}
	if no := r.answers(said("n1", "lin", "/task add every 1h x")); !strings.Contains(no, "You have 50 tasks") {
		t.Errorf("lin's 51st: %q", no)
	}
	if no := r.answers(said("n2", "bob", "/task add every 1h x")); !strings.Contains(no, "This chat has 50 tasks") {
		t.Errorf("the chat's 51st: %q", no)
	}
}
