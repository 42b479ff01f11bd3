package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/gateway/limit"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// costing makes every answer cost so many tokens.
func costing(tokens int) func(context.Context, *agents.Request) (*agents.Response, error) {
	return func(_ context.Context, req *agents.Request) (*agents.Response, error) {
		response := answer("re: " + req.Text)
		response.Usage = models.Usage{PromptTokens: tokens - tokens/4, CompletionTokens: tokens / 4}
		return response, nil
	}
}

func (r *rig) lines(part string) (n int) {
	for _, line := range r.platform.screen() {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

func TestMessagesPerMinute(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.settings.Limits = limit.Limits{MessagesPerMinute: 2, Exempt: []string{"chat/main/boss"}}
	r.chat.Access.Admins = []string{"root"}
	r.start()
	for i := range 5 {
		r.say(said(fmt.Sprint("m", i), "ann", fmt.Sprint("text ", i)))
	}
	for i := range 5 {
		want := models.InboundDone
		if i >= 2 {
			want = models.InboundFailed
		}
		if in := r.ends(fmt.Sprint("m", i), want); want == models.InboundFailed && in.Code != models.CodeRateLimited {
			t.Errorf("code %s", in.Code)
		}
	}
	r.say(said("m5", "ann", "/status")) // commands do not count, and are no way around
	r.ends("m5", models.InboundDone)
	r.say(said("m6", "ann", "/retry"))
	r.ends("m6", models.InboundDone)
	r.say(said("m1", "ann", "text 1")) // nor does what the platform repeats
	for i := range 4 {
		for _, who := range []string{"boss", "root"} {
			r.say(said(fmt.Sprint(who, i), who, "hello"))
			r.ends(fmt.Sprint(who, i), models.InboundDone)
		}
	}
	r.say(said("b1", "bob", "hello"))
	r.ends("b1", models.InboundDone)
	r.until("ann is told", func() bool { return r.lines("You write faster") >= 2 })
	r.delivered()
	if n := r.lines("You write faster"); n != 2 { // the notice, and what /retry says
		t.Errorf("it was said %d times: %q", n, r.platform.screen())
	}
	if history := strings.Join(r.history("m0"), "\n"); strings.Contains(history, "text 2") || !strings.Contains(history, "text 1") {
		t.Errorf("history: %s", history)
	}
	if _, err := r.gateway.Retry(context.Background(), r.inbound("m4").ID); err != nil { // the operator may at once
		t.Fatal(err)
	}
	r.until("it runs", func() bool { return r.inbound("m4").State == models.InboundDone })
}

func TestBudgetOfTheDay(t *testing.T) {
	t.Parallel()
	for kind, limits := range map[string]map[store.BudgetKind]int64{
		"yours":          {store.BudgetUser: 1000},
		"this session's": {store.BudgetSession: 1000},
		"this chat's":    {store.BudgetChat: 1000},
		"this agent's":   {store.BudgetAgent: 1000},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.settings.Limits.TokensPerDay = limits
			r.chat.Access.Admins = []string{"root"}
			r.mind.respond = costing(400)
			r.start()
			for i := range 2 {
				r.say(said(fmt.Sprint("m", i), "ann", "hello"))
				r.ends(fmt.Sprint("m", i), models.InboundDone)
			}
			r.until("ann is warned", func() bool { return r.lines("(80 % of today's token budget is used: "+kind) == 1 })
			r.say(said("m2", "ann", "the last one"))
			r.ends("m2", models.InboundDone)
			for i := 3; i < 6; i++ {
				r.say(said(fmt.Sprint("m", i), "ann", "too much"))
				if in := r.ends(fmt.Sprint("m", i), models.InboundFailed); in.Code != models.CodeBudgetExceeded || !strings.Contains(in.Error, "1000 tokens") {
					t.Errorf("code %s, error %q", in.Code, in.Error)
				}
			}
			r.until("ann is told", func() bool { return r.lines("Today's budget of 1000 tokens is used up ("+kind+")") == 1 })
			// An administrator is not stopped, and lifts it.
			r.say(said("a1", "root", "/limit"))
			r.ends("a1", models.InboundDone)
			lift := "/limit lift"
			switch kind {
			case "yours":
				lift += " ann"
			case "this agent's":
				if _, err := r.gateway.AllowMore(context.Background(), store.BudgetAgent, "assistant", limit.Lifted); err != nil {
					t.Fatal(err)
				}
				lift = "/limit"
			}
			r.say(said("a2", "root", lift))
			r.ends("a2", models.InboundDone)
			r.say(said("m6", "ann", "/limit lift ann"))
			r.ends("m6", models.InboundDone)
			r.say(said("m7", "ann", "/retry"))
			r.ends("m7", models.InboundDone)
			r.until("the last one runs", func() bool { return r.inbound("m5").State == models.InboundDone })
			r.delivered()
			for text, n := range map[string]int{"budget is used: ": 1, "is used up": 1, "Only an administrator": 1} {
				if got := r.lines(text); got != n {
					t.Errorf("%q was said %d times: %q", text, got, r.platform.screen())
				}
			}
			if asked := strings.Join(r.mind.asked(), "\n"); strings.Count(asked, "too much") != 1 {
				t.Errorf("asked: %s", asked)
			}
			if history := strings.Join(r.history("m0"), "\n"); strings.Count(history, "user too much") != 1 {
				t.Errorf("history: %s", history)
			}
		})
	}
}

// One person's budget holds on all accounts that are linked, and on every replica.
func TestBudgetFollowsThePerson(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	identities, err := key.NewIdentities(map[string][]string{"lin": {"chat/main/ann", "chat/main/ann-too"}})
	if err != nil {
		t.Fatal(err)
	}
	r.settings.Identities = identities
	r.settings.Limits = limit.Limits{MessagesPerMinute: 100, TokensPerDay: map[store.BudgetKind]int64{store.BudgetUser: 1000}}
	r.mind.respond = costing(600)
	r.start()
	second := *r
	second.platform, second.config.Owner = newPlatform(), "second"
	second.start()
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	second.say(direct("m2", "ann-too", "hello"))
	second.ends("m2", models.InboundDone)
	second.say(said("m3", "ann", "hello"))
	second.ends("m3", models.InboundFailed)
	r.say(direct("m4", "ann-too", "hello"))
	r.ends("m4", models.InboundFailed)
	stands, err := r.gateway.Budget(context.Background(), store.BudgetUser, "lin")
	if err != nil || stands.Tokens != 1200 {
		t.Errorf("%+v, %v", stands, err)
	}
}

func TestTurnsOfOnePersonAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.settings.Limits.Turns = 2
	var running, most atomic.Int64
	r.mind.respond = func(ctx context.Context, req *agents.Request) (*agents.Response, error) {
		n := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		timer := time.NewTimer(50 * time.Millisecond) // long enough for others to come
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		return answer("re: " + req.Text), nil
	}
	r.start()
	second := *r
	second.platform, second.config.Owner = newPlatform(), "second"
	second.start()
	for i := range 6 {
		from := []*rig{r, &second}[i%2]
		from.say(in(fmt.Sprint("group-", i), said(fmt.Sprint("m", i), "ann", fmt.Sprint("hello ", i))))
	}
	for i := range 6 {
		r.ends(fmt.Sprint("m", i), models.InboundDone)
	}
	if n := most.Load(); n > 2 {
		t.Errorf("%d turns ran at once", n)
	}
}

func TestTurnsAreGivenBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.settings.Limits.Turns = 1
	r.start()
	r.say(said("m1", "ann", hold+" this"))
	r.running(hold + " this")
	r.say(in("elsewhere", said("m2", "ann", "hello")))
	r.say(said("s1", "ann", "/stop"))
	r.ends("m1", models.InboundCancelled)
	r.ends("m2", models.InboundDone)
	r.say(in("elsewhere", said("m3", "bob", "hello")))
	r.ends("m3", models.InboundDone)
}

func TestUsageIsCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.mind.respond = costing(100)
	r.start()
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	r.mind.does(func(context.Context, *agents.Request) (*agents.Response, error) {
		return nil, &agents.Error{Kind: agents.Permanent, Err: errScripted}
	})
	r.say(said("m2", "ann", "hello"))
	r.ends("m2", models.InboundFailed)
	r.mind.does(func(_ context.Context, _ *agents.Request) (*agents.Response, error) { return answer("uncounted"), nil })
	r.say(said("m3", "bob", "hello"))
	r.ends("m3", models.InboundDone)
	day := store.DayOf(r.gateway.Today())
	users, err := r.gateway.Usage(context.Background(), store.UsageQuery{By: store.ByUser, From: day - 1, To: day})
	if err != nil || len(users) != 2 {
		t.Fatalf("%+v, %v", users, err)
	}
	for _, u := range users {
		switch {
		case u.Subject == "chat/main/bob" && (u.PromptTokens == 0 || u.CompletionTokens == 0):
			t.Errorf("a provider that counts nothing costs nothing: %+v", u)
		case u.Subject == "chat/main/ann" && (u.Turns != 2 || u.Errors != 1 || u.PromptTokens != 75 || u.CompletionTokens != 25):
			t.Errorf("%+v", u)
		}
	}
}

func TestBudgetOfATask(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.settings.Limits.TokensPerDay = map[store.BudgetKind]int64{store.BudgetTask: 300}
	r.mind.respond = costing(400)
	r.start()
	r.scheduled("report", nil)
	if run := r.ran("report", 1); run.State != models.RunDone || run.Tokens != 400 {
		t.Errorf("first run %s, %d tokens: %s", run.State, run.Tokens, run.Error)
	}
	if _, err := r.gateway.RunTask(context.Background(), "report"); err != nil {
		t.Fatal(err)
	}
	if run := r.ran("report", 2); run.State != models.RunFailed || !strings.Contains(run.Error, "budget") {
		t.Errorf("second run %s: %s", run.State, run.Error)
	}
	r.scheduled("other", nil)
	if run := r.ran("other", 1); run.State != models.RunDone {
		t.Errorf("another task %s: %s", run.State, run.Error)
	}
}

func TestTaskOfTheDenied(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.scheduled("eves", func(task *models.Task) { task.Owner, task.Prompt = "chat/main/eve", canary })
	r.ran("eves", 1)
	before := r.requests()
	r.deny(nil)
	if _, err := r.gateway.RunTask(context.Background(), "eves"); err != nil {
		t.Fatal(err)
	}
	if run := r.ran("eves", 2); run.State != models.RunFailed {
		t.Errorf("run %s", run.State)
	}
	if r.requests() != before {
		t.Error("the agent was asked")
	}
}
