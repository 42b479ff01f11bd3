package crashtest

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
	"github.com/chatkeep/chatkeep/internal/testmysql"
)

// tasksPerRound all come in the same second.
const tasksPerRound = 200

// tasksLease outlasts what a machine loses that is busy with all of them.
const tasksLease = 5 * time.Second

// run is a task's run as the admin API lists it.
type run struct {
	ScheduledAt   time.Time  `json:"scheduledAt"`
	StartedAt     *time.Time `json:"startedAt"`
	FinishedAt    *time.Time `json:"finishedAt"`
	State         string     `json:"state"`
	DeliveryState string     `json:"deliveryState"`
	Error         string     `json:"error"`
}

// TestTasksOfAKilledReplica lets two replicas have 200 tasks in the same second, and
// kills one of them at a random moment: each task runs once, and its answer is seen once.
func TestTasksOfAKilledReplica(t *testing.T) {
	t.Parallel()
	s := &taskScene{t: t, platforms: newPlatforms(t), mind: newMind(t, 50*time.Millisecond)}
	dsn := testmysql.DSN(t)
	for i := range s.replicas {
		s.replicas[i] = newProgram(t, setup{
			driver: "mysql", dsn: dsn, agentURL: s.mind.url + "/" + string(rune('a'+i)), channels: s.platforms.channels(), lease: tasksLease,
		})
		s.replicas[i].start()
		s.clients[i] = newClient(t, s.replicas[i])
	}
	for n := range rounds(t) {
		if s.round(n); t.Failed() {
			break
		}
	}
	slices.Sort(s.late)
	t.Logf("%d rounds of %d tasks, %d kills: %d runs, %d asked of the model again, %d seen; started late p50 %s p99 %s max %s; all seen %s after a kill at most",
		s.rounds, tasksPerRound, s.rounds, s.runs, s.again, s.seen,
		quantile(s.late, 0.50), quantile(s.late, 0.99), quantile(s.late, 1), s.slowest.Round(time.Millisecond))
}

type taskScene struct {
	t         *testing.T
	platforms *platforms
	mind      *mind
	replicas  [2]*program
	clients   [2]*client

	rounds, runs, again, seen int
	late                      []time.Duration // of runs before the kill, behind their time
	slowest                   time.Duration
}

func (s *taskScene) round(n int) {
	t := s.t
	due := time.Now().Add(5 * time.Second).Truncate(time.Second) // time to store them all
	for i := range tasksPerRound {
		s.platforms.feishu.AddChat("oc_"+name(n, i), feishutest.Group, "Team")
	}
	s.create(n, due)
	victim := rand.IntN(len(s.replicas))
	killed := due.Add(rand.N(2500 * time.Millisecond))
	<-time.After(time.Until(killed))
	s.replicas[victim].kill()
	survivor := s.clients[1-victim]
	for i := range tasksPerRound {
		s.check(survivor, name(n, i), due, killed)
	}
	s.slowest = max(s.slowest, time.Since(killed))
	for i := range tasksPerRound {
		id, answers := name(n, i), 0
		for _, m := range s.platforms.feishu.Messages("oc_" + id) {
			if m.FromBot && !m.Recalled {
				if answers++; m.Text != answerTo(id) {
					t.Errorf("%s: people see %q", id, m.Text)
				}
			}
		}
		if s.seen += answers; answers != 1 {
			t.Errorf("%s: its answer is seen %d times", id, answers)
		}
		s.again += len(s.mind.of(id)) - 1
	}
	s.rounds++
	s.replicas[victim].start()
}

func name(round, i int) string { return fmt.Sprintf("t%d-%03d", round, i) }

// create makes the tasks of a round, by several clients at once.
func (s *taskScene) create(n int, due time.Time) {
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := worker; i < tasksPerRound; i += 8 {
				id := name(n, i)
				status, err := s.clients[i%2].call(http.MethodPost, "/admin/v1/tasks", map[string]any{
					"id": id, "at": due, "timezone": "Asia/Shanghai", "prompt": id, "agent": "assistant", "grace": "5m",
					"deliver": map[string]any{"channel": "feishu", "account": "main", "chatId": "oc_" + id},
				}, nil)
				if err != nil || status != http.StatusCreated {
					s.t.Errorf("create %s: status %d, %v", id, status, err)
				}
			}
		})
	}
	group.Wait()
	if late := time.Since(due); late > 0 {
		s.t.Fatalf("the machine took %s too long to store the tasks", late)
	}
}

// check waits until a task has run and its answer is delivered, once.
func (s *taskScene) check(c *client, id string, due, killed time.Time) {
	s.t.Helper()
	var runs []run
	until(s.t, id+" is delivered", 60*time.Second, func() bool {
		var err error
		runs, err = all[run](c, "/admin/v1/tasks/"+id+"/runs")
		return err == nil && len(runs) > 0 && runs[0].FinishedAt != nil && runs[0].DeliveryState != "pending"
	})
	if s.runs += len(runs); len(runs) != 1 {
		s.t.Fatalf("%s: %d runs of one time: %+v", id, len(runs), runs)
	}
	r := runs[0]
	if r.State != "done" || r.DeliveryState != "delivered" || !r.ScheduledAt.Equal(due) {
		s.t.Errorf("%s: %+v", id, r)
	}
	if r.StartedAt != nil && r.StartedAt.Before(killed) {
		s.late = append(s.late, r.StartedAt.Sub(due))
	}
}

// TestMemoryWithManyTasks weighs the gateway with a hundred stored tasks and with a
// hundred thousand, while one comes every second.
func TestMemoryWithManyTasks(t *testing.T) {
	dsn := testmysql.DSN(t)
	p := newProgram(t, setup{driver: "mysql", dsn: dsn})
	p.start("GOGC=10") // what is measured is close to what is alive
	c := newClient(t, p)
	if status, err := c.call(http.MethodPost, "/admin/v1/tasks", map[string]any{
		"id": "tick", "schedule": "@every 1s", "timezone": "UTC", "prompt": "tick", "agent": "assistant",
	}, nil); err != nil || status != http.StatusCreated {
		t.Fatalf("status %d, %v", status, err)
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store := func(from, to int) {
		for ; from < to; from += 1000 {
			var rows []string
			for i := from; i < min(to, from+1000); i++ {
				rows = append(rows, fmt.Sprintf(`('far%06d', 'admin', NULL, %d, 0, 0, 0, 0, %d, '{"schedule":"0 9 * * *","timezone":"Asia/Shanghai","prompt":"x"}')`,
					i, time.Now().Add(time.Hour).UnixMicro(), time.Now().UnixMicro()))
			}
			if _, err := db.ExecContext(t.Context(), "INSERT INTO tasks (id, owner, chat, next_run_at, paused, failures, runs, revision, created_at, definition) VALUES "+
				strings.Join(rows, ",")); err != nil {
				t.Fatal(err)
			}
		}
	}
	ticks := func(n int) {
		t.Helper()
		until(t, "the task runs", time.Minute, func() bool {
			var page struct {
				Items []run `json:"items"`
			}
			return c.get("/admin/v1/tasks/tick/runs?limit=100", &page) == nil && len(page.Items) >= n
		})
	}
	store(0, 100)
	ticks(2)
	before := measure(t, c)
	store(100, 100_000)
	ticks(6)
	until(t, "heap and goroutines are where they were", 30*time.Second, func() bool {
		now := measure(t, c)
		return now.heap <= before.heap+3<<20 && now.goroutines <= before.goroutines+5
	})
	after := measure(t, c)
	t.Logf("heap %.1f MB and %.0f goroutines with 100 tasks, %.1f MB and %.0f with 100000", before.heap/(1<<20), before.goroutines, after.heap/(1<<20), after.goroutines)
}
