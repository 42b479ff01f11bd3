package crashtest

import (
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/internal/testmysql"
)

// pair is two replicas on one database, whose agent can tell them apart.
type pair struct {
	t       *testing.T
	mind    *mind
	a, b    *program
	onA     *client
	onB     *client
	tally   *tally
	ledger  ledger
	talking sync.WaitGroup
}

// longLease outlasts what a busy machine may lose: no lane changes hands by itself.
const longLease = 15 * time.Second

func newPair(t *testing.T, pace, lease time.Duration) *pair {
	t.Helper()
	dsn, m := testmysql.DSN(t), newMind(t, pace)
	p := &pair{t: t, mind: m, tally: &tally{shownTwice: map[string]int{}}}
	p.a = newProgram(t, setup{driver: "mysql", dsn: dsn, agentURL: m.url + "/a", lease: lease})
	p.b = newProgram(t, setup{driver: "mysql", dsn: dsn, agentURL: m.url + "/b", lease: lease})
	p.a.start()
	p.b.start()
	p.onA, p.onB = newClient(t, p.a), newClient(t, p.b)
	return p
}

// talk lets some people send messages to both replicas by turns; whoever finds one
// of them gone goes to the other.
func (p *pair) talk(name string, people, messages int) {
	for i := range people {
		person := fmt.Sprintf("%s%d", name, i)
		p.talking.Go(func() {
			for n := range messages {
				p.send(person, fmt.Sprintf("%s says %d.", person, n), i+n)
			}
		})
	}
}

func (p *pair) send(person, text string, try int) {
	m := said{UserID: person, MessageID: "m-" + text, Text: text}
	until(p.t, "a replica accepts "+text, acceptedWithin, func() bool {
		c := p.onA
		if try++; try%2 == 0 {
			c = p.onB
		}
		status, _, err := c.say(m)
		return err == nil && status == http.StatusAccepted
	})
	p.ledger.add(person, m.MessageID, text)
}

// settle waits for the end of the talk and checks it, asking one replica.
func (p *pair) settle(c *client) {
	p.t.Helper()
	p.talking.Wait()
	check(p.t, c, &p.ledger, settle(p.t, c, &p.ledger, 30*time.Second), p.tally)
	if twice := p.mind.overlapping(); len(twice) > 0 {
		p.t.Errorf("two turns of one session ran at once: %v", twice)
	}
}

// running waits until a text is being answered and returns by which replica.
func (p *pair) running(text string) string {
	p.t.Helper()
	by := ""
	until(p.t, "the turn of "+text+" runs", 10*time.Second, func() bool {
		for _, c := range p.mind.of(text) {
			if c.ended.IsZero() {
				by = c.replica
				return true
			}
		}
		return false
	})
	return by
}

func TestReplicasShareSessions(t *testing.T) {
	t.Parallel()
	p := newPair(t, 10*time.Millisecond, longLease)
	p.talk("p", 8, 8)
	p.settle(p.onA)
	for _, e := range p.ledger.all() {
		if n := len(p.mind.of(e.text)); n != 1 {
			t.Errorf("%q was run %d times", e.text, n)
		}
	}
	t.Log(p.tally)
}

func TestReplicaTakesOverFromADeadOne(t *testing.T) {
	t.Parallel()
	p, m := newPair(t, 10*time.Millisecond, lease), watchMachine(t)
	const held = 4
	for i := range held {
		person := fmt.Sprintf("held%d", i)
		text := person + " says " + hold + "."
		message := said{UserID: person, MessageID: "m-" + text, Text: text}
		if status, _, err := p.onB.say(message); err != nil || status != http.StatusAccepted {
			t.Fatalf("status %d, %v", status, err)
		}
		p.ledger.add(person, message.MessageID, text)
		if by := p.running(text); by != "b" {
			t.Fatalf("%q runs on replica %q, not where it was accepted", text, by)
		}
	}
	p.talk("p", 4, 8)
	killedAt := time.Now()
	p.b.kill()
	p.tally.kills, p.tally.rounds = 1, 1
	for i := range held {
		text := fmt.Sprintf("held%d says %s.", i, hold)
		until(t, "the other replica takes over "+text, 10*time.Second, func() bool { return len(p.mind.of(text)) == 2 })
		p.tally.took(t, text, killedAt, p.mind.of(text)[1].began, m)
	}
	p.mind.let()
	p.settle(p.onA)
	t.Log(p.tally)
}

func TestReplicasRestartOneAfterTheOther(t *testing.T) {
	t.Parallel()
	p := newPair(t, 20*time.Millisecond, longLease)
	p.talk("p", 6, 30)
	for _, replica := range []*program{p.a, p.b} {
		code, took := replica.terminate(15 * time.Second)
		if code != 0 {
			t.Errorf("exit code %d after SIGTERM", code)
		}
		t.Logf("drained in %s", took.Round(time.Millisecond))
		replica.start()
	}
	p.settle(p.onB)
	for _, e := range p.ledger.all() {
		if n := len(p.mind.of(e.text)); n != 1 {
			t.Errorf("%q was run %d times, though nothing had to be cut short", e.text, n)
		}
	}
	t.Log(p.tally)
}

func TestReplicaWaitsForATurnOfTheOther(t *testing.T) {
	t.Parallel()
	p := newPair(t, 10*time.Millisecond, lease)
	m := said{UserID: "u", MessageID: "m", Text: "please " + hold}
	if status, _, err := p.onB.say(m); err != nil || status != http.StatusAccepted {
		t.Fatalf("status %d, %v", status, err)
	}
	if by := p.running(m.Text); by != "b" {
		t.Fatalf("the turn runs on %q", by)
	}
	type answer struct {
		status int
		out    outcome
		err    error
	}
	got := make(chan answer, 1)
	m.Wait = true
	go func() {
		status, out, err := p.onA.say(m)
		got <- answer{status, out, err}
	}()
	select {
	case a := <-got:
		t.Fatalf("answered before the turn ended: %+v", a)
	case <-time.After(300 * time.Millisecond): // it waits
	}
	p.mind.let()
	select {
	case a := <-got:
		if a.err != nil || a.status != http.StatusOK || a.out.Reply == nil || a.out.Reply.Content != answerTo(m.Text) {
			t.Errorf("the waiting client got %d %+v, %v", a.status, a.out, a.err)
		}
	case <-time.After(5 * time.Second):
		t.Error("the waiting client got nothing")
	}
	if n := len(p.mind.of(m.Text)); n != 1 {
		t.Errorf("the message was run %d times", n)
	}
}

// TestReplicaStopsATurnOfTheOther ends turns of replica B by what comes in at A.
func TestReplicaStopsATurnOfTheOther(t *testing.T) {
	t.Parallel()
	p := newPair(t, time.Millisecond, lease)
	admin := func(method, action string) func(user, key string) (int, error) {
		return func(_, key string) (int, error) {
			return p.onA.call(method, "/admin/v1/sessions/"+url.PathEscape(key)+action, nil, nil)
		}
	}
	cases := []struct {
		name  string
		do    func(user, key string) (int, error)
		state string // of the stopped message; empty: it is gone
	}{
		{"stop", func(user, _ string) (int, error) {
			status, _, err := p.onA.say(said{UserID: user, Text: "/stop", Wait: true})
			return status, err
		}, "cancelled"},
		{"new", func(user, _ string) (int, error) {
			status, _, err := p.onA.say(said{UserID: user, Text: "/new", Wait: true})
			return status, err
		}, "superseded"},
		{"cancel", admin(http.MethodPost, "/cancel"), "cancelled"},
		{"reset", admin(http.MethodPost, "/reset"), "superseded"},
		{"delete", admin(http.MethodDelete, ""), ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			status, before, err := p.onB.say(said{UserID: c.name, Text: "hello", Wait: true})
			if err != nil || status != http.StatusOK {
				t.Fatalf("status %d, %v", status, err)
			}
			text := c.name + ", please " + hold
			_, accepted, err := p.onB.say(said{UserID: c.name, Text: text})
			if err != nil {
				t.Fatal(err)
			}
			if by := p.running(text); by != "b" {
				t.Fatalf("the turn runs on %q", by)
			}
			status, err = c.do(c.name, before.SessionKey)
			if err != nil || status >= 300 {
				t.Fatalf("status %d, %v", status, err)
			}
			asked := time.Now()
			until(t, "the turn is cut", 10*time.Second, func() bool { return p.mind.of(text)[0].cut })
			if took := p.mind.of(text)[0].ended.Sub(asked); took > 2*time.Second {
				t.Errorf("the turn was cut after %s", took)
			} else {
				t.Logf("cut after %s", took.Round(time.Millisecond))
			}
			var out outcome
			status, err = p.onA.call(http.MethodGet, "/v1/inbound/"+accepted.InboundID, nil, &out)
			if err != nil || out.State != c.state || (c.state == "") != (status == http.StatusNotFound) {
				t.Errorf("the stopped message: status %d, %+v, %v; want state %q", status, out, err, c.state)
			}
		})
	}
}
