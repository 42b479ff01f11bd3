package gateway_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
)

// longEnv measures contexts of very long histories, which takes a while to write.
const longEnv = "CHATKEEP_LONG_HISTORY"

// The context of a session costs what it shows, not what the session holds.
func TestContextOfALongHistory(t *testing.T) {
	lengths := []int{200, 2_000}
	if os.Getenv(longEnv) != "" {
		lengths = []int{200, 100_000}
	}
	for name, open := range stores() {
		if name != "sqlite" && os.Getenv(longEnv) == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := newPruneRig(t, prune.ModeSoft)
			r.store = open(t)
			r.start()
			var median []time.Duration
			for _, length := range lengths {
				var messages []*models.SessionMessage
				for i := 0; len(messages) < length; i++ {
					id := fmt.Sprint("call", i)
					messages = append(messages,
						&models.SessionMessage{ID: fmt.Sprint("u", length, i), Role: models.RoleUser, Content: "what did we decide about the release?"},
						&models.SessionMessage{ID: fmt.Sprint("c", length, i), Role: models.RoleAssistant, ToolCalls: []models.ToolCall{{ID: id, Name: "look", Arguments: "{}"}}},
						&models.SessionMessage{ID: fmt.Sprint("r", length, i), Role: models.RoleTool, ToolCallID: id, Content: strings.Repeat("decided ", 100)},
						&models.SessionMessage{ID: fmt.Sprint("a", length, i), Role: models.RoleAssistant, Content: "to wait"})
				}
				r.begin(fmt.Sprint("long", length), messages)
				r.prune(false)
				c := clock.Real()
				var took []time.Duration
				for range 101 {
					began := c.Now()
					view, _ := r.view()
					took = append(took, c.Now().Sub(began))
					if len(view.Messages) != r.settings.MaxMessages || pruned(view) == "" {
						t.Fatalf("%d messages, pruned %q", len(view.Messages), pruned(view))
					}
				}
				slices.Sort(took)
				median = append(median, took[len(took)/2])
			}
			t.Logf("context of %d messages: %s; of %d: %s", lengths[0], median[0], lengths[1], median[1])
			if os.Getenv(longEnv) != "" && median[1] > 3*median[0] {
				t.Errorf("a long history makes the context dear")
			}
		})
	}
}
