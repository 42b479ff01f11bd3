package crashtest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/gateway"
)

// slotsRead is a session as clients read it: by slot the stored messages, and what the
// next turn would send. A session that is not there has none.
type slotsRead map[string][2][]string

func (c *client) reads(t *testing.T, key string) slotsRead {
	t.Helper()
	path := "/admin/v1/sessions/" + url.PathEscape(key)
	var slots struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	status, err := c.call(http.MethodGet, path+"/slots", nil, &slots)
	if err != nil || status != http.StatusOK && status != http.StatusNotFound {
		t.Fatalf("slots: status %d, %v", status, err)
	}
	out := slotsRead{}
	for _, s := range slots.Items {
		var page, context struct {
			Items    []message `json:"items"`
			Messages []message `json:"messages"`
		}
		for into, from := range map[any]string{&page: "/messages?limit=500&slot=", &context: "/context?slot="} {
			if err := c.get(path+from+s.ID, into); err != nil {
				t.Fatal(err)
			}
		}
		out[s.ID] = [2][]string{texts(page.Items), texts(context.Messages)}
	}
	return out
}

func texts(messages []message) []string {
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = m.Role + " " + m.Content
	}
	return out
}

// TestCrashInAChangeOfASession kills the gateway around the commit of what changes a
// session besides its turns: it then reads as before or as after.
func TestCrashInAChangeOfASession(t *testing.T) {
	cases := []struct {
		before, after string // the points
		method, path  string
		body          any
		done          func(before, after slotsRead) string // what is wrong once it is committed
	}{
		{gateway.CrashBeforeCompaction, gateway.CrashAfterCompaction, http.MethodPost, "/compact", nil, compacted},
		{gateway.CrashBeforeDerive, gateway.CrashAfterDerive, http.MethodPost, "/slots/default/derive", map[string]string{"id": "copy"}, derived},
		{gateway.CrashBeforeDelete, gateway.CrashAfterDelete, http.MethodDelete, "", nil, deleted},
		{gateway.CrashBeforePrune, gateway.CrashAfterPrune, http.MethodPost, "/prune", nil, pruned},
	}
	same := func(before, after slotsRead) string {
		if fmt.Sprint(before) != fmt.Sprint(after) {
			return "it is not as before"
		}
		return ""
	}
	for _, b := range backends {
		for _, c := range cases {
			for point, right := range map[string]func(before, after slotsRead) string{c.before: same, c.after: c.done} {
				t.Run(b.name+"/"+point, func(t *testing.T) {
					t.Parallel()
					p := newProgram(t, setup{
						driver: b.name, dsn: b.dsn(t), agentURL: newMind(t, 0).url,
						session: map[string]any{"maxMessages": 20, "pruning": map[string]any{"mode": "hard", "keepRecentCount": 2}},
					})
					p.start(crashEnv + "=" + point)
					crashIn(t, p, c.method, c.path, c.body, right)
				})
			}
		}
	}
}

// crashIn lets a session grow, kills the program in a change of it, and looks again.
func crashIn(t *testing.T, p *program, method, path string, body any, right func(before, after slotsRead) string) {
	t.Helper()
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
	if status, err := c.call(method, "/admin/v1/sessions/"+url.PathEscape(key)+path, body, nil); err == nil {
		t.Fatalf("the change was answered with status %d", status)
	}
	if !p.killed(30 * time.Second) {
		t.Fatal("the gateway did not kill itself")
	}
	p.start()
	after := c.reads(t, key)
	if wrong := right(before, after); wrong != "" {
		t.Errorf("%s:\n%q\nbefore:\n%q", wrong, after, before)
	}
	if status, out, err := c.say(said{UserID: "u", Text: "still there?", Wait: true}); err != nil || status != http.StatusOK || out.Reply == nil {
		t.Errorf("after the crash: status %d, %+v, %v", status, out, err)
	}
}

func compacted(before, after slotsRead) string {
	was, is := before["default"], after["default"]
	switch {
	case len(is[0]) != len(was[0])+1 || !slices.Equal(is[0][:len(was[0])], was[0]):
		return "the messages are not those from before with a summary"
	case !strings.Contains(strings.Join(is[1][:2], ""), "what was said") || len(is[1]) >= len(was[1]) || is[1][len(is[1])-1] != was[1][len(was[1])-1]:
		return "the context is not the summary with the newest messages"
	}
	return ""
}

func derived(before, after slotsRead) string {
	if !slices.Equal(after["copy"][0], before["default"][0]) || !slices.Equal(after["default"][0], before["default"][0]) {
		return "the copy is not one"
	}
	return ""
}

func deleted(_, after slotsRead) string {
	if len(after) > 0 {
		return "it is not gone"
	}
	return ""
}

func pruned(before, after slotsRead) string {
	was, is := before["default"][0], after["default"][0]
	if len(is) >= len(was) || len(is) == 0 || !slices.Equal(is, was[len(was)-len(is):]) {
		return "the messages are not the newest"
	}
	return ""
}
