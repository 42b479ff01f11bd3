package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// finds returns what a search in a session tells a model.
func (r *rig) finds(ctx context.Context, key, words string) (found []store.FoundMessage, texts []string) {
	r.t.Helper()
	found, _, err := r.store.SearchMessages(ctx, store.MessageQuery{SessionKey: key, Words: strings.Fields(words), WithAsked: true, Limit: 100})
	if err != nil {
		r.t.Fatal(err)
	}
	if found, err = r.gateway.HeardMessages(ctx, found); err != nil {
		r.t.Fatal(err)
	}
	for _, f := range found {
		texts = append(texts, f.Message.Content)
	}
	return found, texts
}

// What the denied said is not found, and neither is what they were answered.
func TestSearchesLeaveOutTheDenied(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.say(said("m1", "eve", canary))
	key := r.ends("m1", models.InboundDone).SessionKey
	r.say(said("m2", "bob", "bob on "+canary))
	r.ends("m2", models.InboundDone)
	quoting := said("m3", "bob", "what was that?")
	quoting.Quote = &adapters.Quote{SenderID: "eve", Text: "her words"}
	r.say(quoting)
	r.ends("m3", models.InboundDone)

	all := []string{"re: bob on " + canary, "bob on " + canary, "re: " + canary, canary}
	_, texts := r.finds(t.Context(), key, canary)
	equal(t, "found", texts, all...)
	r.deny(nil)
	_, texts = r.finds(t.Context(), key, canary)
	equal(t, "found without eve", texts, all[:2]...)
	found, texts := r.finds(t.Context(), key, "what was that?")
	equal(t, "found", texts, "re: what was that?", "what was that?")
	if q := found[1].Message.Quote; q != nil {
		t.Errorf("eve is quoted: %+v", q)
	}
}

// marked counts the statements on a table that a call makes.
type marked struct {
	stall

	table string
	n     atomic.Int64
}

type markedCall struct{}

// Statement counts.
func (m *marked) Statement(ctx context.Context, sql string) error {
	if ctx.Value(markedCall{}) != nil && strings.Contains(sql, m.table) {
		m.n.Add(1)
	}
	return nil
}

// Who of a page is heard is asked in one statement at most.
func TestSearchesAskOnceWhoIsHeard(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	asked := &marked{table: "access_grants"}
	r.open(asked)
	r.chat.Access.Groups, r.chat.Access.AllowUsers = access.Pairing, []string{"user-*"}
	r.start()
	const people = 12
	var key string
	for i := range people {
		id := fmt.Sprint("m", i)
		r.say(said(id, fmt.Sprint("user-", i), canary+" "+id))
		key = r.ends(id, models.InboundDone).SessionKey
	}
	for _, step := range []struct {
		groups     access.Mode
		found      int
		statements int64
	}{{access.Pairing, 2, 1}, {access.Allowlist, 2, 0}, {access.Open, 2 * people, 0}} {
		r.chat.Access.Groups, r.chat.Access.AllowUsers = step.groups, []string{"user-11"}
		r.gateway.Reload(r.settings)
		asked.n.Store(0)
		_, texts := r.finds(context.WithValue(t.Context(), markedCall{}, true), key, canary)
		if n := asked.n.Load(); len(texts) != step.found || n != step.statements {
			t.Errorf("%s: %q with %d statements, want %d with %d", step.groups, texts, n, step.found, step.statements)
		}
	}
}
