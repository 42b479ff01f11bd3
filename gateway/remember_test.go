package gateway_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// pushes sends a text to the group and waits until it was delivered.
func (r *rig) pushes(text, key string) {
	r.t.Helper()
	p := pushToGroup(text)
	p.Remember, p.IdempotencyKey = true, key
	if _, err := r.gateway.Push(context.Background(), p); err != nil {
		r.t.Fatal(err)
	}
	r.delivered()
}

// What is pushed into a group whose members have sessions of their own is shown to
// each of them, once, in its order.
func TestPushIsBackgroundOfEveryMember(t *testing.T) {
	t.Parallel()
	r := isolated(t)
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	r.pushes("the build is green", "once")
	r.pushes("the build is green", "once")
	r.say(aside("a1", "bob", "good"))
	r.ends("a1", models.InboundObserved)
	for id, user := range map[string]string{"m2": "ann", "m3": "lin"} {
		r.say(said(id, user, "what about the build?"))
		r.ends(id, models.InboundDone)
		want := []string{"assistant the build is green", "user good", "user what about the build?", "assistant re: what about the build?"}
		if user == "ann" {
			want = append([]string{"user hello", "assistant re: hello"}, want...)
		}
		equal(t, "history of "+user, r.history(id), want...)
		shown := r.mind.last().Messages
		if !slices.ContainsFunc(shown, func(m *models.SessionMessage) bool {
			return m.Role == models.RoleAssistant && m.Content == "the build is green"
		}) {
			t.Errorf("%s's agent is not shown the push", user)
		}
	}
	r.say(said("m4", "ann", "again"))
	r.ends("m4", models.InboundDone)
	equal(t, "history of ann", r.history("m4")[4:], "user what about the build?", "assistant re: what about the build?", "user again", "assistant re: again")
	if _, err := r.store.Session(context.Background(), "agent:assistant:channel:any:scope:per_peer:chat/main/group/group"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the group has a session that nobody talks in: %v", err)
	}
}

func TestTaskIsBackgroundOfEveryMember(t *testing.T) {
	t.Parallel()
	r := isolated(t)
	r.scheduled("standup", nil)
	if run := r.ran("standup", 1); run.DeliveryState != models.RunDeliveryDelivered {
		t.Fatalf("delivery %s: %s", run.DeliveryState, run.Error)
	}
	for id, user := range map[string]string{"m1": "ann", "m2": "lin"} {
		r.say(said(id, user, "what was that?"))
		r.ends(id, models.InboundDone)
		equal(t, "history of "+user, r.history(id), "assistant re: summarise standup", "user what was that?", "assistant re: what was that?")
	}
}

// In a thread the members share a session, though in the group they do not.
func TestPushIntoAThreadIsPartOfItsSession(t *testing.T) {
	t.Parallel()
	r := isolated(t)
	p := pushToGroup("in the thread")
	p.Remember, p.Target.ThreadID = true, "omt_1"
	if _, err := r.gateway.Push(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	r.delivered()
	in := said("m1", "ann", "hello")
	in.Chat.ThreadID = "omt_1"
	r.say(in)
	r.ends("m1", models.InboundDone)
	equal(t, "history", r.history("m1"), "assistant in the thread", "user hello", "assistant re: hello")
}
