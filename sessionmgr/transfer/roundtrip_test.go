package transfer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/transfer"
	"github.com/chatkeep/chatkeep/store"
)

func exported(t *rapid.T, s store.Store, key string) string {
	t.Helper()
	var b bytes.Buffer
	if err := transfer.Export(context.Background(), s, key, transfer.Options{Format: transfer.JSONL}, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Any session goes from any store to any other: as a document, which comes out as the
// same bytes again, and as a copy, with what a document leaves out.
func testRoundTrip(t *testing.T, all map[string]store.Store) {
	few(t)
	kinds := slices.Sorted(maps.Keys(all))
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		order := rapid.Permutation(kinds).Draw(rt, "stores")
		from, to, third := all[order[0]], all[order[1]], all[order[2]]
		b := &builder{t: rt, store: from, key: fmt.Sprintf("agent:a:channel:any:scope:per_peer:api/default/random%d", n), now: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)}
		b.session()

		document := exported(rt, from, b.key)
		got, err := transfer.Import(context.Background(), to, bytes.NewReader([]byte(document)))
		if err != nil {
			rt.Fatalf("%s to %s: %v\n%s", order[0], order[1], err, document)
		}
		if again := exported(rt, to, b.key); again != document || got.Key != b.key {
			rt.Fatalf("%s to %s changed\n%s\ninto\n%s", order[0], order[1], document, again)
		}
		sameContexts(rt, from, to, b.key)

		copied, err := transfer.Copy(context.Background(), from, third, b.key)
		if err != nil || !copied {
			rt.Fatalf("%s to %s: %v, %v", order[0], order[2], copied, err)
		}
		sameContexts(rt, from, third, b.key)
		if copied, err = transfer.Copy(context.Background(), from, third, b.key); err != nil || copied {
			rt.Fatalf("a second copy: %v, %v", copied, err)
		}
		restores(rt, from, third, b)
		b.store = third
		b.turn()
		if _, err = transfer.Copy(context.Background(), from, third, b.key); !errors.Is(err, transfer.ErrDiffers) {
			rt.Fatalf("a copy over another session: %v", err)
		}
	})
}

// sameContexts compares what turns would start from.
func sameContexts(t *rapid.T, a, b store.Store, key string) {
	t.Helper()
	record, err := a.SessionRecord(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range record.Contexts {
		if !c.SetAsideAt.IsZero() {
			continue
		}
		var shown [2]*store.SessionContext
		for i, s := range []store.Store{a, b} {
			if shown[i], err = s.LoadContext(context.Background(), key, c.Slot.ID, 100); err != nil {
				t.Fatal(err)
			}
			shown[i].Generation = 0
			maps.DeleteFunc(shown[i].Forms, func(seq int64, _ store.PrunedForm) bool { // of what was undone
				return !slices.ContainsFunc(shown[i].Messages, func(m *models.SessionMessage) bool { return m.Seq == seq })
			})
			if len(shown[i].Forms) == 0 {
				shown[i].Forms = nil
			}
		}
		if !reflect.DeepEqual(shown[0], shown[1]) {
			t.Fatalf("context of slot %s is\n%s, want\n%s", c.Slot.ID, asText(shown[1]), asText(shown[0]))
		}
	}
}

// restores makes sure that what resets set aside can be brought back in a copy.
func restores(t *rapid.T, from, to store.Store, b *builder) {
	t.Helper()
	for _, slot := range b.slots {
		var errs [2]error
		var texts [2][]*models.SessionMessage
		for i, s := range []store.Store{from, to} {
			errs[i] = s.ChangeSession(context.Background(), b.key, func(tx store.SessionTx) error { return tx.Restore(slot, 0, b.now) })
			texts[i], _ = s.Messages(context.Background(), b.key, slot, 0, 100)
		}
		if (errs[0] == nil) != (errs[1] == nil) || !reflect.DeepEqual(texts[0], texts[1]) {
			t.Fatalf("restored slot %s: %v and %v\n%+v\n%+v", slot, errs[0], errs[1], texts[0], texts[1])
		}
	}
}

func asText(v any) string {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}
