package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/gateway/command"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// waiting waits until a call waits for a person and returns its code.
func (r *toolRig) waiting() string {
	r.t.Helper()
	var code string
	r.until("a call waits", func() bool {
		pending, _, err := r.store.ListApprovals(context.Background(), store.ApprovalQuery{State: models.ApprovalPending})
		if err != nil {
			r.t.Fatal(err)
		}
		if len(pending) > 0 {
			code = pending[0].Code
		}
		return code != ""
	})
	return code
}

// perChat gives each chat a policy of its own while the gateway runs.
func (r *rig) perChat(policies map[string]access.Policy) {
	s := r.settings
	known := s.Chat
	s.Chat = func(channel, account, chatID string) (gateway.ChatSettings, bool) {
		chat, ok := known(channel, account, chatID)
		if own, has := policies[chatID]; has {
			chat.Access = own
		}
		return chat, ok
	}
	r.gateway.Reload(s)
}

// The calls of a task that speaks in no chat are for the operator to decide on. What
// comes of them is in the task's session, or posted to its URL.
func TestOperatorDecidesForATaskWithoutChat(t *testing.T) {
	server, got := newHook(t)
	for name, target := range map[string]*models.TaskTarget{"nowhere": nil, "a URL": {URL: server.URL + "/in"}} {
		t.Run(name, func(t *testing.T) {
			r, l := pullRig(t)
			r.settings.TaskHooks = guarded(t, server)
			r.start()
			r.scheduled("nightly", func(task *models.Task) { task.Prompt, task.Deliver = "pull it", target })
			code := r.waiting()
			r.ran("nightly", 1)
			before := len(got())
			a, err := r.gateway.Decide(context.Background(), code, true)
			if err != nil {
				t.Fatal(err)
			}
			var in *models.Inbound
			r.until("the call's turn has its outcome", func() bool {
				if in, err = r.store.Inbound(context.Background(), a.DecidedIn); err != nil {
					t.Fatal(err)
				}
				return in.State.Final()
			})
			if in.State != models.InboundDone || !strings.Contains(in.Reply.Content, "pulled") || len(l.pulled()) != 1 {
				t.Fatalf("%s (%s), pulled %q", in.State, in.Error, l.pulled())
			}
			if r.delivered(); len(r.platform.screen()) != 0 {
				t.Errorf("people see %q", r.platform.screen())
			}
			for _, d := range r.deliveries() {
				if d.State != models.DeliveryDelivered {
					t.Errorf("delivery to %+v is %s: %s", d.Target, d.State, d.Error)
				}
			}
			if target != nil && (len(got()) != before+1 || !strings.Contains(got()[before].body, "pulled")) {
				t.Errorf("posted %+v", got())
			}
		})
	}
}

// Who administers one chat by an override decides neither on calls that were made in
// others, nor on who may use the account, nor on what others may spend.
func TestAdministratorsOfAChatDecideThereAlone(t *testing.T) {
	r, l := pullRig(t)
	r.start()
	open := access.Policy{Direct: access.Open, Groups: access.Open}
	r.chat.Access = open
	paired := access.Policy{Direct: access.Pairing, Groups: access.Open, Admins: []string{"root"}}
	lobby := access.Policy{Direct: access.Open, Groups: access.Open, Admins: []string{"local"}}
	r.perChat(map[string]access.Policy{"": paired, "direct-eve": paired, "direct-root": paired, "lobby": lobby})
	r.say(said("m1", "ann", "pull it"))
	code := r.code()
	in := func(id, user, words string) string {
		t.Helper()
		m := said(id, user, words)
		m.Chat.ID = "lobby"
		r.say(m)
		return r.ends(id, models.InboundDone).Reply.Content
	}
	if told := in("m2", "local", "/approve "+code); told != text.Say(text.English, text.ApprovalMissing, code) || len(l.pulled()) != 0 {
		t.Errorf("approving elsewhere says %q, pulled %q", told, l.pulled())
	}
	r.say(whisper("e1", "eve", "let me in"))
	pairing := ""
	r.until("eve has a code", func() bool {
		pairing = pairingCode.FindString(strings.Join(r.platform.screen(), "\n"))
		return pairing != ""
	})
	for i, words := range []string{"/pair", "/pair " + pairing, "/approve " + pairing, "/deny " + pairing, "/limit lift ann"} {
		if told := in(fmt.Sprint("p", i), "local", words); told != text.Say(text.English, text.AdminOnly) {
			t.Errorf("%s says %q", words, told)
		}
	}
	r.say(whisper("r1", "root", "/approve "+pairing)) // of the account
	if told := r.ends("r1", models.InboundDone).Reply.Content; told != text.Say(text.English, text.PairApproved, "Name of eve") {
		t.Errorf("root is told %q", told)
	}
	foreign := added(t, r.answers(said("t1", "ann", "/task add every 1h look")))
	if told := in("t2", "local", "/task list all"); strings.Contains(told, foreign) {
		t.Errorf("the tasks of other chats are listed: %q", told)
	}
	if in("t3", "local", "/task delete "+foreign); r.task(foreign) == nil {
		t.Error("the task of another chat was deleted")
	}
}

// A call that nobody asked for, a task's of the configuration, is not everybody's whom
// the platform does not name.
func TestNamelessSendersDecideNothing(t *testing.T) {
	r, l := pullRig(t)
	r.start()
	r.scheduled("nightly", func(task *models.Task) { task.Prompt, task.Owner = "pull it", models.OwnerAdmin })
	code := r.code()
	r.event(&adapters.Event{ID: "e1", Kind: adapters.ActionButton, Value: "approve:" + code, MessageID: "om_card"})
	if in := r.ends("press:e1", models.InboundDone); in.Reply.Content != text.Say(text.English, text.ApprovalMissing, code) || len(l.pulled()) != 0 {
		t.Errorf("it says %q, pulled %q", in.Reply.Content, l.pulled())
	}
}

// deferring is a task tool whose calls a person must approve.
type deferring struct{ r *rig }

func (deferring) Spec() agents.ToolSpec {
	return agents.ToolSpec{Name: "pull", Parameters: json.RawMessage(`{"type":"object"}`), NeedsApproval: true}
}

func (d deferring) Call(ctx context.Context, _ json.RawMessage, key string) (agents.ToolResult, error) {
	inbound, _ := agents.InboundIDFromContext(ctx)
	say, _, err := d.r.gateway.TaskFromTurn(ctx, inbound, command.TaskRequest{Action: "add", When: "every 1h", Prompt: "look", Key: key})
	return agents.ToolResult{Text: say}, err
}

// What a call schedules is for the chat that it was made in, wherever it was approved.
func TestApprovedTaskIsOfTheChatThatAsked(t *testing.T) {
	r, _ := pullRig(t)
	agent := r.settings.Agents["assistant"]
	agent.Tools = fixed{deferring{r.rig}}
	r.settings.Agents["assistant"] = agent
	r.chat.Access.Admins = []string{"root"}
	r.start()
	r.say(said("m1", "ann", "pull it"))
	r.say(whisper("m2", "root", "/approve "+r.code()))
	task := r.task(added(t, strings.TrimPrefix(r.ends("m2", models.InboundDone).Reply.Content, "I heard: ")))
	if task.Owner != "chat/main/ann" || *task.Deliver != (models.TaskTarget{Channel: "chat", Account: "main", ChatID: "group"}) {
		t.Errorf("task of %s, delivered to %+v", task.Owner, task.Deliver)
	}
}

// sending is a tool that sends into the turn's chat, if a person says so.
type sending struct{ r *rig }

func (sending) Spec() agents.ToolSpec { return deferring{}.Spec() }

func (s sending) Call(ctx context.Context, _ json.RawMessage, key string) (agents.ToolResult, error) {
	inbound, _ := agents.InboundIDFromContext(ctx)
	return agents.ToolResult{Text: "sent"}, s.r.gateway.SendFromTurn(ctx, gateway.TurnMessage{InboundID: inbound, Text: "by the way", Key: key})
}

// What an approved call of a task sends becomes part of the chat's history, as the task's
// answers do.
func TestApprovedMessageOfATaskIsRemembered(t *testing.T) {
	r, _ := pullRig(t)
	agent := r.settings.Agents["assistant"]
	agent.Tools = fixed{sending{r.rig}}
	r.settings.Agents["assistant"] = agent
	r.start()
	r.scheduled("nightly", func(task *models.Task) { task.Prompt = "pull it" })
	r.say(said("m1", "lin", "/approve "+r.code()))
	r.ends("m1", models.InboundDone)
	r.delivered()
	r.say(said("m2", "lin", "what was that?"))
	r.ends("m2", models.InboundDone)
	if history := strings.Join(r.history("m2"), "\n"); !strings.Contains(history, "assistant by the way") {
		t.Errorf("the chat's history is\n%s", history)
	}
}
