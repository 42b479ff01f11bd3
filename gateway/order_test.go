package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// rounds is how often what may race is tried; each round has its own chat.
const rounds = 12

func in(chat string, m *adapters.Message) *adapters.Message {
	m.Chat.ID = chat
	return m
}

func TestWhatFollowsACommandIsNotItsBusiness(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ command, slot string }{{"/new trip", "trip"}, {"/reset", models.DefaultSlot}} {
		t.Run(c.command, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.chat.Access.Admins = []string{"ann"}
			r.start()
			for i := range rounds {
				chat := fmt.Sprint("group-", i)
				r.say(in(chat, said("a"+chat, "ann", "before")))
				r.ends("a"+chat, models.InboundDone)
				r.say(in(chat, said("b"+chat, "ann", c.command)))
				r.say(in(chat, said("c"+chat, "ann", wait)))
				r.say(in(chat, said("d"+chat, "bob", "after")))
			}
			for i := range rounds {
				r.ends(fmt.Sprint("bgroup-", i), models.InboundDone)
			}
			r.mind.release()
			for i := range rounds {
				for _, m := range []string{"c", "d"} {
					if in := r.ends(fmt.Sprint(m, "group-", i), models.InboundDone); in.Slot != c.slot {
						t.Errorf("round %d: %s is in slot %q", i, m, in.Slot)
					}
				}
				equal(t, "history", r.history(fmt.Sprint("dgroup-", i)), "user "+wait, "assistant re: "+wait, "user after", "assistant re: after")
			}
		})
	}
}

func TestCommandsOfASessionRunInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	for i := range rounds {
		for _, name := range []string{"one", "two", "three"} {
			chat := fmt.Sprint("group-", i)
			r.say(in(chat, said(name+chat, "ann", "/new "+name)))
		}
	}
	for i := range rounds {
		for _, name := range []string{"one", "two", "three"} {
			r.ends(fmt.Sprint(name, "group-", i), models.InboundDone)
		}
		s, err := r.store.Session(context.Background(), r.inbound(fmt.Sprint("onegroup-", i)).SessionKey)
		if err != nil {
			t.Fatal(err)
		}
		if s.CurrentSlot != "three" {
			t.Errorf("round %d: the current slot is %q", i, s.CurrentSlot)
		}
	}
}

// storedCommand stores a command as another version of the program might have.
func (r *rig) storedCommand(id, command string) {
	r.t.Helper()
	payload := map[string]any{"message": said(id, "ann", "/"+command), "agentId": "assistant"}
	if command != "" {
		payload["command"] = map[string]string{"name": command}
	}
	b, err := json.Marshal(payload)
	if err != nil {
		r.t.Fatal(err)
	}
	_, err = r.store.Accept(context.Background(), &store.AcceptRequest{
		Inbound: models.Inbound{
			ID: models.NewID("inb"), Channel: "chat", Account: "main", Kind: models.KindCommand, SenderID: "ann", Payload: b,
			SessionKey: "agent:assistant:channel:any:scope:per_peer:chat/main/group/group", ReceivedAt: time.Now(),
		},
		DedupKeys: []string{gateway.MessageKey("chat", "main", id)},
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func TestCommandThatCannotBeCarriedOutIsGivenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.storedCommand("c1", "teleport")
	r.storedCommand("c2", "")
	r.start()
	r.say(said("c3", "ann", "/help")) // is not blocked by them
	for _, id := range []string{"c1", "c2"} {
		if in := r.ends(id, models.InboundFailed); in.Error == "" {
			t.Errorf("%s failed without a reason", id)
		}
	}
	r.ends("c3", models.InboundDone)
	notices := 0
	for _, shown := range r.delivered() {
		if strings.Contains(shown, "did not work") {
			notices++
		}
	}
	if notices != 2 {
		t.Errorf("%d notices, people see %q", notices, r.platform.screen())
	}
}

func TestCommandThatKillsItsProcessIsSetAside(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.storedCommand("c1", "help")
	for claims := 0; claims < 5; {
		got, err := r.store.ClaimCommands(context.Background(), store.ClaimRequest{Owner: "dying", Lease: time.Millisecond}, 1)
		if err != nil {
			t.Fatal(err)
		}
		claims += len(got)
	}
	r.start()
	if in := r.ends("c1", models.InboundDead); in.Code != models.CodeAgentFailed {
		t.Errorf("code %q", in.Code)
	}
	if shown := r.delivered(); len(shown) != 1 {
		t.Errorf("people see %q", shown)
	}
}

func TestStopIsForTheSendersOwnAccount(t *testing.T) {
	t.Parallel()
	r := busy(t, func(r *rig) { r.known = func(channel string) bool { return channel == "api" } })
	k, err := key.Parse(r.inbound("m0").SessionKey)
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := r.gateway.Accept(context.Background(), &gateway.Incoming{
		Channel: "api", Account: "main", Message: said("c1", "ann", "/stop"), Key: &k, Pulled: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	var in *models.Inbound
	r.until("the command is carried out", func() bool {
		in, err = r.store.Inbound(context.Background(), accepted.Inbound.ID)
		return err == nil && in.State.Final()
	})
	if in.Reply == nil || in.Reply.Content != text.Say(text.English, text.NothingToStop) {
		t.Errorf("reply %+v", in.Reply)
	}
	if r.inbound("m0").State != models.InboundRunning {
		t.Error("somebody who chose the id of another stopped their turn")
	}
}

func TestInterruptStaysInItsSlotAndChat(t *testing.T) {
	t.Parallel()
	r := busy(t, func(r *rig) {
		r.settings.Queue = gateway.Queue{Mode: gateway.Interrupt}
		r.chat.Scopes = key.Scopes{Thread: key.ThreadParent}
	})
	there := said("m1", "ann", "in a thread")
	there.Chat.ThreadID = "omt_1"
	r.say(there)
	if state := r.inbound("m0").State; state != models.InboundRunning {
		t.Errorf("a message of another thread made it %s", state)
	}
}

func TestUndoIsForOnesOwnTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	for _, c := range []struct {
		id, user string
		say      text.ID
	}{{"c1", "bob", text.NeedsAdmin}, {"c2", "ann", text.UndoDone}, {"c3", "ann", text.NothingToUndo}} {
		r.say(said(c.id, c.user, "/undo"))
		if in := r.ends(c.id, models.InboundDone); in.Reply.Content != text.Say(text.English, c.say) {
			t.Errorf("%s: %q", c.id, in.Reply.Content)
		}
	}
}

func TestRetryAfterALaterSuccess(t *testing.T) {
	t.Parallel()
	r := busy(t, func(*rig) {})
	r.say(said("c1", "ann", "/stop"))
	r.ends("m0", models.InboundCancelled)
	r.mind.release()
	r.say(said("m1", "ann", "another"))
	r.ends("m1", models.InboundDone)
	r.say(said("c2", "ann", "/retry"))
	r.ends("c2", models.InboundDone)
	r.until("the message runs again", func() bool { return r.inbound("m0").State == models.InboundDone })
}
