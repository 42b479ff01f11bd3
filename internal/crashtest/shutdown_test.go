package crashtest

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// TestShutdownUnderLoad sends SIGTERM while short turns and endless ones run: the
// short ones finish, the endless ones are handed back, the exit code is 0, and the
// next start answers what is left.
func TestShutdownUnderLoad(t *testing.T) {
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			const grace = 2 * time.Second
			m := newMind(t, 300*time.Millisecond)
			p := newProgram(t, setup{driver: b.name, dsn: b.dsn(t), agentURL: m.url, grace: grace.String()})
			p.start()
			c := newClient(t, p)
			var l ledger
			const people = 6
			for i := range people {
				person := fmt.Sprintf("p%d", i)
				for n, text := range []string{person + " is brief.", person + " says wait."} {
					if i%2 == 0 && n == 0 {
						text = person + " says " + hold + "."
					}
					message := said{UserID: person, MessageID: text, Text: text}
					if status, _, err := c.say(message); err != nil || status != http.StatusAccepted {
						t.Fatalf("status %d, %v", status, err)
					}
					l.add(person, message.MessageID, text)
				}
			}
			until(t, "all first turns run", 10*time.Second, func() bool { return len(m.seen()) >= people })
			code, took := p.terminate(grace + 10*time.Second)
			if code != 0 {
				t.Errorf("exit code %d", code)
			}
			// Turns are cut a quarter of the grace before its end: what they leave must still be stored.
			if took < grace*3/4-100*time.Millisecond || took > grace+3*time.Second {
				t.Errorf("stopped after %s, the grace being %s", took, grace)
			}
			for _, call := range m.seen() {
				if endless := call.text[len(call.text)-len(hold)-1:] == hold+"."; call.cut != endless {
					t.Errorf("turn of %q: cut is %v", call.text, call.cut)
				}
			}
			m.let()
			p.start()
			found := settle(t, c, &l, 15*time.Second)
			y := &tally{}
			check(t, c, &l, found, y)
			for _, in := range found {
				if in.Attempts > 0 {
					t.Errorf("%s: %d attempts counted, though the lane was handed back", in.PlatformMessageID, in.Attempts)
				}
			}
			t.Logf("stopped after %s; lost %d of %d", took.Round(time.Millisecond), y.lost, y.accepted)
		})
	}
}
