package e2e

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/adapters/dingtalk/dingtalktest"
	"github.com/chatkeep/chatkeep/gateway/httpapi"
	"github.com/chatkeep/chatkeep/internal/clock"
)

// lookalikes are conversations that differ by case, or by what URLs and file
// names like to change.
var lookalikes = []string{"cidAbC+/d==", "cidabc+/d==", "cidAbC d==", "cidAbC+%2Fd==", "cidAbC+/d=", "cidAbC+:d=="}

func TestDingTalkConversationsWithSimilarIDsNeverMeet(t *testing.T) {
	for name, mysql := range map[string]bool{"memory": false, "mysql": true} { // MySQL by default takes them for the same
		t.Run(name, func(t *testing.T) {
			w := onDingTalk(t, dingtalktest.Options{})
			if mysql {
				w.store, _ = openMySQL(t)
			}
			for _, id := range lookalikes {
				w.platform.AddChat(dingtalktest.Chat{ID: id, Title: "Group", Group: true})
			}
			r := w.start()
			admin := w.admin(r)
			var keys []string
			for i, id := range lookalikes {
				said := w.platform.Say(id, "staff1", fmt.Sprintf("secret number %d", i))
				w.acked(said, 1)
				keys = append(keys, w.inbound(said).SessionKey)
			}
			w.settled()
			for i, id := range lookalikes {
				if m := w.only(id); !strings.Contains(m.Text, fmt.Sprintf("secret number %d", i)) {
					t.Errorf("%s got %q", id, m.Text)
				}
				if history := w.history(admin, keys[i]); len(history) != 2 || !strings.Contains(history[0], fmt.Sprintf("secret number %d", i)) {
					t.Errorf("the history of %s is %q", id, history)
				}
			}
			for _, r := range w.model.Requests() {
				if n := strings.Count(prompt(r), "secret number"); n != 1 {
					t.Errorf("a context holds %d secrets:\n%s", n, prompt(r))
				}
			}
		})
	}
}

// admin serves the admin API of a replica and returns its base URL.
func (w *dingtalkWorld) admin(r *replica) string {
	api := httpapi.New(httpapi.Config{MaxBody: 1 << 20}, httpapi.Deps{
		Sessions: w.store, Control: r.gateway, Contexts: r.gateway, Queues: w.store, QueueControl: r.gateway,
	}, clock.Real(), slog.New(slog.DiscardHandler))
	server := httptest.NewServer(api.Admin())
	w.t.Cleanup(server.Close)
	return server.URL
}

// history returns what the admin API shows of a session, oldest first.
func (w *dingtalkWorld) history(admin, key string) []string {
	w.t.Helper()
	resp, err := w.http.Get(admin + "/admin/v1/sessions/" + url.PathEscape(key) + "/messages")
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var page struct {
		Items []struct {
			Content string `json:"content"`
		} `json:"items"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil || resp.StatusCode != http.StatusOK {
		w.t.Fatalf("history of %s: HTTP %d, %v", key, resp.StatusCode, err)
	}
	var out []string
	for _, m := range page.Items {
		out = append(out, m.Content)
	}
	return out
}
