package crashtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/gateway"
)

const (
	// roundsEnv sets how often the gateway is killed at each point and backend.
	roundsEnv = "CHATKEEP_CRASH_ROUNDS"
	crashEnv  = "CHATKEEP_TEST_CRASH"
	// perConversation is how many messages each person sends in a round.
	perConversation = 3
)

func rounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv(roundsEnv)
	if text == "" {
		return 2
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s must be a number of rounds, not %q", roundsEnv, text)
	}
	return n
}

// TestCrash kills the gateway at every crash point while seven conversations on
// three channels are going on, starts it again, and checks that nothing that was
// accepted is lost or done twice.
func TestCrash(t *testing.T) {
	for _, b := range backends {
		for _, point := range gateway.CrashPoints() {
			t.Run(b.name+"/"+point, func(t *testing.T) {
				t.Parallel()
				newScene(t, b.name, b.dsn(t), point).play(rounds(t))
			})
		}
	}
}

// scene is one database with its gateway, killed again and again at one point.
type scene struct {
	t         *testing.T
	point     string
	platforms *platforms
	mind      *mind
	program   *program
	client    *client
	tally     *tally
	machine   *machine
}

func newScene(t *testing.T, driver, dsn, point string) *scene {
	s := &scene{t: t, point: point, platforms: newPlatforms(t), mind: newMind(t, 30*time.Millisecond)}
	s.program = newProgram(t, setup{driver: driver, dsn: dsn, agentURL: s.mind.url, channels: s.platforms.channels()})
	s.client = newClient(t, s.program)
	s.tally, s.machine = &tally{shownTwice: map[string]int{}}, watchMachine(t)
	return s
}

func (s *scene) play(rounds int) {
	for n := range rounds {
		if s.round(n); s.t.Failed() {
			break
		}
	}
	s.tally.overlaps = len(s.mind.overlapping())
	if s.tally.overlaps > 0 {
		s.t.Errorf("two turns of one session ran at once: %v", s.mind.overlapping())
	}
	s.t.Log(s.tally)
}

func (s *scene) round(n int) {
	t := s.t
	s.program.start(fmt.Sprintf("%s=%s:%d", crashEnv, s.point, 1+rand.IntN(8)))
	until(t, "the platforms are connected", 20*time.Second, s.platforms.connected)
	people := s.people(n)
	var l ledger
	var talking sync.WaitGroup
	for _, p := range people {
		talking.Go(func() {
			for i := range perConversation {
				text := fmt.Sprintf("%s says %d.", p.name, i)
				l.add(p.name, p.say(t, text), text)
			}
		})
	}
	if !s.program.killed(30 * time.Second) {
		t.Errorf("the gateway did not kill itself at %s", s.point)
		talking.Wait()
		return
	}
	killedAt, calls := time.Now(), len(s.mind.seen())
	s.program.start()
	talking.Wait()
	found := settle(t, s.client, &l, 20*time.Second)
	check(t, s.client, &l, found, s.tally)
	s.tally.rounds++
	s.tally.kills++
	s.recovered(&l, killedAt, calls)
	s.screens(people)
	if code, _ := s.program.terminate(10 * time.Second); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
}

func (s *scene) people(round int) []conversation {
	var out []conversation
	for i := range 3 {
		out = append(out, overAPI(s.client, fmt.Sprintf("a%d-%d", round, i)))
	}
	for i := range 2 {
		out = append(out, s.platforms.overFeishu(fmt.Sprintf("f%d-%d", round, i)), s.platforms.overDingTalk(fmt.Sprintf("d%d-%d", round, i)))
	}
	return out
}

// recovered measures how long the lanes that were busy at the kill stayed stuck: at
// most a lease and a second of the time that the machine gave to its processes.
func (s *scene) recovered(l *ledger, killedAt time.Time, before int) {
	accepted := map[string]bool{}
	for _, e := range l.all() {
		if e.acceptedAt.Before(killedAt) {
			accepted[e.text] = true
		}
	}
	first := map[string]time.Time{} // by session
	for _, c := range s.mind.seen()[before:] {
		if _, known := first[c.session]; !known && accepted[c.text] {
			first[c.session] = c.began
		}
	}
	for session, began := range first {
		s.tally.took(s.t, session, s.program.readyAt, began, s.machine)
	}
}

// screens checks that people see every answer, and once where the platform can.
func (s *scene) screens(people []conversation) {
	for _, p := range people {
		if p.shown == nil {
			continue
		}
		screen := p.shown()
		for i := range perConversation {
			text := fmt.Sprintf("%s says %d.", p.name, i)
			switch n := seen(screen, text); {
			case n == 0 || n > p.most:
				s.t.Errorf("%s sees the answer to %q %d times: %q", p.name, text, n, screen)
			case n > 1:
				s.tally.shownTwice[p.name[:1]]++
			}
		}
	}
	for _, v := range s.platforms.feishu.FromBot() {
		if v.Streaming {
			s.t.Errorf("the stream card %q was never finished", v.Text)
		}
	}
}
