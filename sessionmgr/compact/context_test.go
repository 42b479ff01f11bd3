package compact

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/window"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/memstore"
)

// Whatever was said and however it is summarised, what a model is sent afterwards has
// whole groups, begins validly, keeps the newest message, and is the same twice.
func TestContextAfterACompaction(t *testing.T) {
	st := memstore.New()
	t.Cleanup(func() { _ = st.Close() })
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		ctx, key := context.Background(), fmt.Sprintf("agent:assistant:channel:any:scope:per_peer:api/default/u%d", n)
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		now := time.Unix(1_700_000_000, 0)
		must(st.CreateSession(ctx, &models.Session{
			Key: key, AgentID: "assistant", Channel: "api", Account: "default", Scope: models.ScopePerPeer, ScopeID: fmt.Sprint("api/default/u", n),
			State: models.SessionActive, CurrentSlot: models.DefaultSlot, CreatedAt: now,
		}))
		history := drawHistory(t)
		for _, m := range history {
			m.ID, m.Seq, m.CreatedAt = models.NewMessageID(now), 0, now
		}
		if len(history) > 0 {
			must(st.AppendMessages(ctx, key, history))
		}
		model := func(context.Context, Ask) (Answer, error) { return Answer{Text: "what was said"}, nil }
		keep := rapid.IntRange(0, 12).Draw(t, "keep")
		result, err := New(st, clock.Real(), nil).Compact(ctx, Request{
			Key: key, Keep: keep, Fit: rapid.SampledFrom([]int{0, 300, 5000}).Draw(t, "fit"), Model: model, Window: 8000,
		})
		if err != nil && result.Changed {
			t.Fatalf("%+v, %v", result, err)
		}
		limit := rapid.SampledFrom([]int{0, 2000, 50_000}).Draw(t, "limit")
		build := func() (*window.Output, *store.SessionContext) {
			stored, err := st.LoadContext(ctx, key, "", 500)
			must(err)
			out, err := window.Build(window.Input{
				SystemPrompt: "You help.", Summary: []*models.SessionMessage{stored.Summary}, History: stored.Messages,
				User: &models.SessionMessage{Role: models.RoleUser, Content: "and now?"}, Limits: window.Limits{MaxTokens: limit},
			})
			must(err)
			return out, stored
		}
		out, stored := build()
		if wrong := whole(out.Models()); wrong != "" {
			t.Fatal(wrong)
		}
		if limit > 0 && out.Tokens > limit {
			t.Fatalf("%d tokens of %d", out.Tokens, limit)
		}
		sent, first := out.Models(), models.Role("")
		for _, m := range sent {
			if first == "" && m.Role != models.RoleSystem {
				first = m.Role
			}
		}
		if first != models.RoleUser || sent[len(sent)-1].Content != "and now?" {
			t.Fatalf("begins with %s, ends with %q", first, sent[len(sent)-1].Content)
		}
		if newest := len(history) - 1; newest >= 0 && (len(stored.Messages) == 0 || stored.Messages[len(stored.Messages)-1].ID != history[newest].ID) {
			t.Fatal("the newest message is not kept")
		}
		again, _ := build()
		one, err := json.Marshal(out.Models())
		must(err)
		two, err := json.Marshal(again.Models())
		must(err)
		if !bytes.Equal(one, two) {
			t.Fatal("the same state gives two contexts")
		}
	})
}
