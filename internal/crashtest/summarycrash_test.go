package crashtest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/gateway"
)

// TestCrashInASummaryThatWasAskedFor kills the gateway after it said that it summarises
// a session: whoever comes next makes the summary, once, and says so.
func TestCrashInASummaryThatWasAskedFor(t *testing.T) {
	for _, b := range backends {
		for _, point := range []string{gateway.CrashInSummary, gateway.CrashBeforeCompaction, gateway.CrashAfterCompaction} {
			t.Run(b.name+"/"+point, func(t *testing.T) {
				t.Parallel()
				p := newProgram(t, setup{driver: b.name, dsn: b.dsn(t), agentURL: newMind(t, 0).url, session: map[string]any{"maxMessages": 20}})
				p.start(crashEnv + "=" + point)
				c := newClient(t, p)
				var key string
				for i := range 15 {
					status, out, err := c.say(said{UserID: "u", Text: fmt.Sprintf("message %d %s", i, strings.Repeat("and so on ", 8)), Wait: true})
					if err != nil || status != http.StatusOK {
						t.Fatalf("status %d, %v", status, err)
					}
					key = out.SessionKey
				}
				before := c.reads(t, key)
				asked := said{UserID: "u", MessageID: "compact", Text: "/compact"}
				if status, _, err := c.say(asked); err == nil && status != http.StatusAccepted { // the answer may be lost
					t.Fatalf("the command was answered with status %d", status)
				}
				if !p.killed(30 * time.Second) {
					t.Fatal("the gateway did not kill itself")
				}
				p.start()
				asked.Wait = true
				began := time.Now()
				status, out, err := c.say(asked)
				if err != nil || status != http.StatusOK || out.Reply == nil || !strings.HasPrefix(out.Reply.Content, "Summarised ") {
					t.Fatalf("after the crash: status %d, %+v, %v", status, out, err)
				}
				t.Logf("it has its outcome %s after the start", time.Since(began).Round(time.Millisecond))
				if wrong := compacted(before, c.reads(t, key)); wrong != "" {
					t.Errorf("%s:\n%q\nbefore:\n%q", wrong, c.reads(t, key), before)
				}
			})
		}
	}
}
