package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

var errProvider = errors.New("the provider's own words")

func fails(kind agents.ErrorKind) func(context.Context, *agents.Request) (*agents.Response, error) {
	return func(context.Context, *agents.Request) (*agents.Response, error) {
		return nil, &agents.Error{Kind: kind, Err: errProvider}
	}
}

func TestAgentFailures(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		respond func(context.Context, *agents.Request) (*agents.Response, error)
		timeout time.Duration
		code    models.ErrorCode
		say     text.ID
	}{
		{"permanent", fails(agents.Permanent), 0, models.CodeAgentFailed, text.AgentFailed},
		{"credentials", fails(agents.Auth), 0, models.CodeAgentFailed, text.AgentFailed},
		{"transient", fails(agents.Transient), 0, models.CodeAgentFailed, text.AgentBusy},
		{"overflow", fails(agents.Overflow), 0, models.CodeTooLarge, text.TooLarge},
		{"its own timeout", fails(agents.Timeout), 0, models.CodeAgentTimeout, text.AgentTimeout},
		{"the turn's timeout", func(ctx context.Context, _ *agents.Request) (*agents.Response, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, time.Second, models.CodeAgentTimeout, text.AgentTimeout},
		{"no answer", func(context.Context, *agents.Request) (*agents.Response, error) { return &agents.Response{}, nil },
			0, models.CodeAgentFailed, text.AgentFailed},
		{"panic", func(context.Context, *agents.Request) (*agents.Response, error) { panic("agent") },
			0, models.CodeAgentFailed, text.AgentFailed},
	}
	for _, c := range cases {
		for _, lang := range []text.Lang{text.English, text.Chinese} {
			t.Run(c.name+"/"+string(lang), func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				r.chat.Language = string(lang)
				r.mind.does(c.respond)
				if c.timeout > 0 {
					agent := r.settings.Agents["assistant"]
					agent.Timeout = c.timeout
					r.settings.Agents["assistant"] = agent
				}
				r.start()
				r.say(said("m1", "ann", "hello"))
				in := r.ends("m1", models.InboundFailed)
				if in.Code != c.code || in.Error == "" || strings.Contains(in.Error, "\n") {
					t.Errorf("code %q, error %q; want %q and one line", in.Code, in.Error, c.code)
				}
				want := text.Say(lang, c.say)
				if strings.Contains(want, "%") {
					want = text.Say(lang, c.say, "E-"+in.ID[len(in.ID)-6:])
				}
				equal(t, "screen", r.delivered(), want)
				equal(t, "history", r.history("m1"))

				r.mind.does(nil)
				r.say(said("m2", "ann", "once more"))
				r.ends("m2", models.InboundDone)
			})
		}
	}
}

func TestFailedMessageCanRunAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.mind.does(fails(agents.Permanent))
	r.start()
	r.say(said("m1", "ann", "hello"))
	failed := r.ends("m1", models.InboundFailed)
	r.mind.does(nil)
	if _, err := r.gateway.Retry(context.Background(), failed.ID); err != nil {
		t.Fatal(err)
	}
	r.ends("m1", models.InboundDone)
	equal(t, "history", r.history("m1"), "user hello", "assistant re: hello")
	if _, err := r.gateway.Retry(context.Background(), failed.ID); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a message that is done runs again: %v", err)
	}
}

func TestMessageThatCannotFitIsRefusedBeforeTheModel(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	agent := r.settings.Agents["assistant"]
	agent.ContextWindow = 200
	r.settings.Agents["assistant"] = agent
	r.start()
	r.say(said("m1", "ann", strings.Repeat("many words ", 500)))
	if in := r.ends("m1", models.InboundFailed); in.Code != models.CodeTooLarge {
		t.Errorf("code %q", in.Code)
	}
	equal(t, "asked", r.mind.asked())
	equal(t, "screen", r.delivered(), text.Say(text.English, text.TooLarge))
}

func TestReadonlySlotIsRefusedBeforeTheModel(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.say(said("m1", "ann", "hello"))
	key := r.ends("m1", models.InboundDone).SessionKey
	err := r.store.ChangeSession(context.Background(), key, func(tx store.SessionTx) error {
		if err := tx.CreateSlot(&models.ContextSlot{
			ID: "law", Mode: models.SlotReadonly, Source: models.SlotSource{Kind: models.SlotNew}, CreatedAt: time.Now(),
		}); err != nil {
			return err
		}
		return tx.SwitchSlot("law")
	})
	if err != nil {
		t.Fatal(err)
	}
	r.say(said("m2", "ann", "write this down"))
	if in := r.ends("m2", models.InboundFailed); in.Code != models.CodeSlotReadonly {
		t.Errorf("code %q", in.Code)
	}
	equal(t, "asked", r.mind.asked(), "hello")
	equal(t, "screen", r.delivered(), "re: hello", text.Say(text.English, text.SlotReadonly, "law"))
}

func TestEmptyAnswerIsSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.mind.does(func(context.Context, *agents.Request) (*agents.Response, error) { return answer(""), nil })
	r.start()
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	equal(t, "screen", r.delivered(), text.Say(text.English, text.EmptyAnswer))
}

// TestPoisonMessageIsSetAside lets five processes die in a message: it is given up
// with a notice, and the session goes on.
func TestPoisonMessageIsSetAside(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	workers := r.config.Workers
	r.config.Workers = 0 // it accepts and runs nothing
	r.make()
	r.say(said("m1", "ann", "poison"))
	r.say(said("m2", "ann", "hello"))
	for range 5 {
		dead := store.ClaimRequest{Owner: "dead", Lease: time.Millisecond}
		r.until("the lane is due again", func() bool {
			claims, err := r.store.ClaimLanes(context.Background(), dead, 1)
			if err != nil {
				t.Fatal(err)
			}
			if len(claims) == 0 {
				return false
			}
			if _, err := r.store.BeginTurn(context.Background(), claims[0], store.MergeRule{}); err != nil {
				t.Fatal(err)
			}
			return true
		})
	}
	r.config.Workers = workers
	r.start()
	in := r.ends("m1", models.InboundDead)
	if in.Error == "" || in.Code != models.CodeAgentFailed {
		t.Errorf("code %q, error %q", in.Code, in.Error)
	}
	r.ends("m2", models.InboundDone)
	equal(t, "asked", r.mind.asked(), "hello")
	equal(t, "screen", r.delivered(), text.Say(text.English, text.MessageDead, "E-"+in.ID[len(in.ID)-6:]), "re: hello")
}

// TestStreamCardIsFinishedOnEveryEnding opens a card, ends the turn in each way
// there is, and finds no card that still pretends to grow.
func TestStreamCardIsFinishedOnEveryEnding(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	cases := []struct {
		name  string
		end   func(r *rig, key string)
		state models.InboundState
	}{
		{"answer", func(r *rig, _ string) { r.mind.release() }, models.InboundDone},
		{"failure", func(r *rig, _ string) {
			r.mind.does(fails(agents.Permanent))
			r.mind.release()
		}, models.InboundFailed},
		{"stop", func(r *rig, _ string) { r.say(said("c1", "ann", "/stop")) }, models.InboundCancelled},
		{"new", func(r *rig, _ string) { r.say(said("c1", "ann", "/new")) }, models.InboundSuperseded},
		{"cancel", func(r *rig, key string) { _, _ = r.gateway.Cancel(ctx, key, false) }, models.InboundCancelled},
		{"reset", func(r *rig, key string) { _, _ = r.gateway.Reset(ctx, key, false) }, models.InboundSuperseded},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t).start()
			r.say(said("m1", "ann", "hello"))
			key := r.ends("m1", models.InboundDone).SessionKey
			r.delivered()
			r.say(said("m2", "ann", wait))
			r.until("the card is shown", func() bool { return r.platform.shown() == 1 })
			c.end(r, key)
			r.ends("m2", c.state)
			r.delivered()
			r.until("the card is finished", func() bool { return r.platform.open() == 0 })
			r.until("the working sign is taken back", func() bool { return len(r.platform.working()) == 0 })
		})
	}
}

func TestNoCardOpensBehindAnUnsentMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	r.platform.fail(&hourly)
	if _, err := r.gateway.Push(context.Background(), pushToGroup("first")); err != nil {
		t.Fatal(err)
	}
	r.until("the push has to wait", func() bool { return r.platform.sent() == 1 })
	r.say(said("m1", "ann", wait))
	r.running(wait)
	r.mind.release()
	r.ends("m1", models.InboundDone)
	if n := r.platform.shown(); n != 0 {
		t.Errorf("%d cards overtook a message that is not sent yet", n)
	}
}
