package toolloop

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/chatkeep/chatkeep/models"
)

// maxID is the longest call id that OpenAI takes back.
const maxID = 40

// ids makes the ids of calls unique in a conversation. Models leave them out, give
// two calls the same one, or start again from call_0 in each answer, and strict
// providers refuse all of that.
type ids struct {
	inbound string
	used    map[string]struct{}
	made    int
}

func newIDs(inbound string, history []*models.SessionMessage) *ids {
	i := &ids{inbound: inbound, used: map[string]struct{}{}}
	for _, message := range history {
		for _, call := range message.ToolCalls {
			i.used[call.ID] = struct{}{}
		}
	}
	return i
}

// repair gives each call that needs it a fresh id, and a name that providers take back.
func (i *ids) repair(calls []models.ToolCall) {
	for n := range calls {
		call := &calls[n]
		call.Name = validName(call.Name)
		_, used := i.used[call.ID]
		if used || call.ID == "" || len(call.ID) > maxID {
			call.ID = i.fresh()
		}
		i.used[call.ID] = struct{}{}
	}
}

// fresh returns nine letters and digits, which is what the strictest provider
// (Mistral) asks of an id. It is the same when the turn runs again.
func (i *ids) fresh() string {
	for {
		i.made++
		id := digest(i.inbound, "id", fmt.Sprint(i.made))[:9]
		if _, used := i.used[id]; !used {
			return id
		}
	}
}

var badInName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// validName makes a name that a model invented fit for being sent back:
// ^[a-zA-Z0-9_-]{1,64}$ everywhere.
func validName(name string) string {
	name = badInName.ReplaceAllString(strings.TrimSpace(name), "_")
	if name == "" {
		return "unnamed"
	}
	return name[:min(len(name), models.MaxName)]
}

// keys makes idempotency keys: the same for the same call of the same inbound
// message, however often the turn runs.
type keys struct {
	inbound string
	seen    map[string]int
}

func newKeys(inbound string) *keys { return &keys{inbound: inbound, seen: map[string]int{}} }

func (k *keys) next(tool string, arguments json.RawMessage) string {
	call := digest(k.inbound, tool, string(arguments))
	k.seen[call]++
	return digest(call, fmt.Sprint(k.seen[call]))
}

// digest hashes parts so that no two different lists of them collide.
func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}
