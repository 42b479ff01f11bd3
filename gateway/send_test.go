package gateway_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// sends makes the agent send messages while it answers, one of which arrives before
// the answer does.
func (r *rig) sends(messages ...gateway.TurnMessage) *[]error {
	errs := &[]error{}
	r.mind.does(func(ctx context.Context, req *agents.Request) (*agents.Response, error) {
		for _, m := range messages {
			m.InboundID = req.InboundID
			*errs = append(*errs, r.gateway.SendFromTurn(ctx, m))
		}
		for clock.Sleep(ctx, clock.Real(), 2*time.Millisecond) == nil {
			arrived, _, err := r.store.ListDeliveries(ctx, store.DeliveryQuery{State: models.DeliveryDelivered})
			if err != nil {
				return nil, err
			}
			if len(arrived) > 0 { // and is remembered
				break
			}
		}
		return answer("done"), nil
	})
	return errs
}

func TestTurnSendsToItsOwnChatOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.chat.Streaming = false
	m := gateway.TurnMessage{Text: "on it", Key: "k1"}
	errs := r.sends(m, m)
	r.start()
	in := said("m1", "ann", "go")
	in.Chat.ThreadID = "omt_1"
	r.say(in)
	r.ends("m1", models.InboundDone)
	r.delivered()
	equal(t, "the group", r.platform.where(), "group/omt_1: on it", "group/omt_1: done")
	equal(t, "history", r.history("m1"), "assistant on it", "user go", "assistant done")
	if err := errors.Join(*errs...); err != nil {
		t.Error(err)
	}
	late := gateway.TurnMessage{InboundID: r.inbound("m1").ID, Text: "too late", Key: "k2"}
	if err := r.gateway.SendFromTurn(context.Background(), late); !errors.Is(err, gateway.ErrTurnOver) {
		t.Errorf("after the turn: %v", err)
	}
	late.InboundID = "inb_nobody"
	if err := r.gateway.SendFromTurn(context.Background(), late); !errors.Is(err, gateway.ErrTurnOver) {
		t.Errorf("of no turn: %v", err)
	}
}

func TestTurnSendsToAnotherChat(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.chat.Streaming = false
	errs := r.sends(
		gateway.TurnMessage{Chat: "chat/main/other/group", Text: "news", Key: "k1"},
		gateway.TurnMessage{Chat: "chat/gone/x", Text: "news", Key: "k2"},
		gateway.TurnMessage{Chat: "nonsense", Text: "news", Key: "k3"},
	)
	r.start()
	r.say(said("m1", "ann", "go"))
	r.ends("m1", models.InboundDone)
	r.delivered()
	equal(t, "the chats", r.platform.where(), "other/group/: news", "group/: done")
	if got := *errs; got[0] != nil || !errors.Is(got[1], gateway.ErrUnknownAccount) || !errors.Is(got[2], gateway.ErrUnknownAccount) {
		t.Errorf("errors %v", got)
	}
	r.mind.does(nil)
	there := said("m2", "lin", "what?")
	there.Chat.ID = "other/group"
	r.say(there)
	r.ends("m2", models.InboundDone)
	equal(t, "history there", r.history("m2"), "assistant news", "user what?", "assistant re: what?")
	equal(t, "history here", r.history("m1"), "user go", "assistant done")
}

// What a member's turn sends is seen by all: it is background of the group.
func TestTurnOfAMemberSendsToTheGroup(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.chat.IsolateMembers, r.chat.Streaming = true, false
	r.sends(gateway.TurnMessage{Text: "on it", Key: "k1"})
	r.start()
	r.say(said("m1", "ann", "go"))
	r.ends("m1", models.InboundDone)
	r.delivered()
	r.mind.does(nil)
	for id, user := range map[string]string{"m2": "ann", "m3": "lin"} {
		r.say(said(id, user, "what?"))
		r.ends(id, models.InboundDone)
	}
	equal(t, "history of ann", r.history("m2"), "user go", "assistant done", "assistant on it", "user what?", "assistant re: what?")
	equal(t, "history of lin", r.history("m3"), "assistant on it", "user what?", "assistant re: what?")
}

func TestTaskSendsToItsChat(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	errs := r.sends(gateway.TurnMessage{Text: "beginning", Key: "k1"})
	r.start()
	r.scheduled("standup", nil)
	r.ran("standup", 1)
	r.delivered()
	equal(t, "the group", r.platform.where(), "group/: beginning", "group/: done")
	r.scheduled("nowhere", func(t *models.Task) { t.Deliver = nil })
	r.ran("nowhere", 1)
	if got := *errs; len(got) != 2 || got[0] != nil || !errors.Is(got[1], gateway.ErrNoChat) {
		t.Errorf("errors %v", got)
	}
}
