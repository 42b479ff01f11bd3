package gateway_test

import (
	"context"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/storetest"
)

// imported makes a session of which no message is in the inbox, and returns its key.
func (r *rig) imported(change func(*key.Request)) string {
	r.t.Helper()
	ask := key.Request{AgentID: "assistant", Channel: "chat", Account: "main", ChatID: "group", UserID: "ann", IsolateMembers: r.chat.IsolateMembers}
	change(&ask)
	k, err := key.Derive(ask)
	if err != nil {
		r.t.Fatal(err)
	}
	now := r.clock.Now()
	session := storetest.NewSession(k.String(), now)
	session.AgentID, session.Channel, session.Account, session.Scope, session.ScopeID = k.AgentID, "chat", "main", k.Scope, k.ScopeID
	said := storetest.NewSessionMessage(models.RoleUser, "what is new?", now)
	said.SenderID, said.SenderName = "ann", "Ann"
	if err := r.store.CreateSession(context.Background(), session); err != nil {
		r.t.Fatal(err)
	}
	if err := r.store.AppendMessages(context.Background(), session.Key, []*models.SessionMessage{said}); err != nil {
		r.t.Fatal(err)
	}
	return session.Key
}

// context returns what the next turn of a session would send.
func (r *rig) context(key string) string {
	r.t.Helper()
	view, err := r.gateway.Context(context.Background(), key, models.DefaultSlot)
	if err != nil {
		r.t.Fatal(err)
	}
	var lines []string
	for _, m := range view.Messages {
		lines = append(lines, string(m.Role)+" "+m.Content)
	}
	return strings.Join(lines, "\n")
}

// Where no message tells what a session is of, its key does.
func TestContextOfAnImportedSession(t *testing.T) {
	t.Parallel()
	for _, apart := range []bool{false, true} {
		r := newRig(t)
		r.chat.IsolateMembers = apart
		r.start()
		settings, account := r.settings, r.settings.Chat
		settings.Chat = func(channel, id, chat string) (gateway.ChatSettings, bool) {
			c, known := account(channel, id, chat)
			if chat == "group" {
				c.SystemPrompt = "rules of the group"
			}
			return c, known
		}
		r.gateway.Reload(settings)
		r.say(overheard("m1", "bob", "bob was overheard"))
		r.ends("m1", models.InboundObserved)

		group := r.context(r.imported(func(*key.Request) {}))
		direct := r.context(r.imported(func(k *key.Request) { k.Direct = true }))
		elsewhere := r.context(r.imported(func(k *key.Request) { k.ChatID = "elsewhere" }))
		for _, want := range []string{"rules of the group", "bob was overheard"} {
			if !strings.Contains(group, want) {
				t.Errorf("members apart: %t: no %q in %q", apart, want, group)
			}
			if strings.Contains(direct, want) || strings.Contains(elsewhere, want) {
				t.Errorf("members apart: %t: %q in %q or %q", apart, want, direct, elsewhere)
			}
		}
		if named := strings.Contains(group, "Ann"); named == apart {
			t.Errorf("members apart: %t: who speaks is named: %t", apart, named)
		}
		if strings.Contains(direct, "Ann") {
			t.Errorf("who speaks is named in a direct chat: %q", direct)
		}
	}
}

// What was said before a session was moved belongs to the session that it is now.
func TestMessagesOfAMovedSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	second := r.settings.Agents["assistant"]
	second.ID, second.SystemPrompt = "second", "you are the second"
	r.settings.Agents["second"] = second
	r.start()
	r.mind.does(func(context.Context, *agents.Request) (*agents.Response, error) {
		return nil, &agents.Error{Kind: agents.Permanent, Err: errScripted}
	})
	r.say(said("m0", "ann", "first"))
	r.ends("m0", models.InboundFailed)
	r.mind.does(nil)
	r.say(said("m1", "ann", "hello"))
	from := r.ends("m1", models.InboundDone).SessionKey
	r.delivered()
	to := strings.Replace(from, "agent:assistant:", "agent:second:", 1)
	if _, err := r.gateway.Move(context.Background(), from, to, false); err != nil {
		t.Fatal(err)
	}
	if got := r.context(to); !strings.Contains(got, second.SystemPrompt) {
		t.Errorf("the context is %q", got)
	}
	failed := r.inbound("m0")
	if failed.SessionKey != to {
		t.Errorf("the failed message is of %s", failed.SessionKey)
	}
	if _, err := r.gateway.Retry(context.Background(), failed.ID); err != nil {
		t.Fatal(err)
	}
	r.until("it is answered", func() bool { return r.inbound("m0").State == models.InboundDone })
	r.mind.mu.Lock()
	defer r.mind.mu.Unlock()
	if last := r.mind.requests[len(r.mind.requests)-1]; last.AgentID != "second" || last.SessionKey != to {
		t.Errorf("agent %s was asked for %s", last.AgentID, last.SessionKey)
	}
	sessions, _, err := r.store.ListSessions(context.Background(), store.SessionQuery{Limit: 10})
	if err != nil || len(sessions) != 1 || sessions[0].Key != to {
		t.Errorf("%d sessions, %v", len(sessions), err)
	}
}
