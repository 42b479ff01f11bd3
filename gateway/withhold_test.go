package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// canary is what the person said whose words must not reach an agent.
const canary = "canary-of-eve"

// deny changes the settings of the running gateway so that eve is denied.
func (r *rig) deny(change func(*access.Policy)) {
	r.chat.Access.DenyUsers = []string{"eve"}
	if change != nil {
		change(&r.chat.Access)
	}
	r.gateway.Reload(r.settings)
}

// heard returns everything that the agent was told from the nth request on.
func (r *rig) heard(from int) string {
	r.mind.mu.Lock()
	defer r.mind.mu.Unlock()
	var all []string
	for _, req := range r.mind.requests[from:] {
		b, err := json.Marshal(req.Messages)
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, string(b), req.Text)
		for _, m := range req.Messages {
			if m.Quote != nil {
				all = append(all, m.Quote.Text)
			}
		}
	}
	return strings.Join(all, "\n")
}

func (r *rig) requests() int {
	r.mind.mu.Lock()
	defer r.mind.mu.Unlock()
	return len(r.mind.requests)
}

// silent fails if the agent was told what eve said.
func (r *rig) silent(from int) {
	r.t.Helper()
	if all := r.heard(from); strings.Contains(all, canary) {
		r.t.Errorf("the agent was told: %s", all)
	}
}

func overheard(id, user, text string) *adapters.Message {
	m := said(id, user, text)
	m.Mentioned = false
	return m
}

func TestDeniedWordsAreNotKept(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.deny(nil)
	r.say(overheard("m1", "eve", canary))
	r.say(said("m2", "eve", canary))
	r.say(said("m3", "eve", "/remember "+canary))
	r.say(overheard("m4", "bob", "good morning"))
	r.say(said("m5", "ann", "hello"))
	r.ends("m5", models.InboundDone)
	r.silent(0)
	if !strings.Contains(r.heard(0), "good morning") {
		t.Error("what others said is missing")
	}
	for _, id := range []string{"m1", "m2", "m3"} {
		if in := r.ends(id, models.InboundIgnored); strings.Contains(string(in.Payload), canary) {
			t.Errorf("%s is kept: %s", id, in.Payload)
		}
	}
}

func TestDeniedAfterSpeaking(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*access.Policy){
		"by name":       nil,
		"by another id": func(p *access.Policy) { p.DenyUsers = []string{"alt-eve"} },
		"off the list": func(p *access.Policy) {
			*p = access.Policy{Groups: access.Allowlist, AllowUsers: []string{"ann", "alt-bob"}}
		},
		"never approved": func(p *access.Policy) {
			*p = access.Policy{Groups: access.Pairing, AllowUsers: []string{"ann", "alt-bob"}}
		},
		"in disabled use": func(p *access.Policy) {
			*p = access.Policy{Groups: access.Disabled, Admins: []string{"ann", "alt-bob"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t).start()
			with := func(m *adapters.Message) *adapters.Message {
				m.Sender.AltIDs = []string{"alt-" + m.Sender.ID}
				return m
			}
			r.say(with(said("m1", "eve", canary+" asked")))
			r.ends("m1", models.InboundDone)
			r.say(with(said("m2", "bob", "bob asked")))
			r.ends("m2", models.InboundDone)
			r.say(with(overheard("m3", "eve", canary+" observed")))
			r.say(with(overheard("m4", "bob", "bob observed")))
			r.say(with(said("m5", "eve", hold+" "+canary)))
			r.running(hold + " " + canary)
			r.say(with(said("m6", "eve", canary+" waits")))
			r.deny(change)
			before := r.requests()
			r.mind.release()
			r.ends("m5", models.InboundDone) // it was asked before
			waited := r.ends("m6", models.InboundIgnored)
			if waited.Code != models.CodeForbidden {
				t.Errorf("code %s", waited.Code)
			}
			r.say(with(said("m7", "ann", "what was said?")))
			r.ends("m7", models.InboundDone)
			r.silent(before)
			if heard := r.heard(before); !strings.Contains(heard, "bob asked") || !strings.Contains(heard, "bob observed") {
				t.Errorf("the agent was told: %s", heard)
			}
			view, err := r.gateway.Context(context.Background(), waited.SessionKey, models.DefaultSlot)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range view.Messages {
				if strings.Contains(m.Content, canary) {
					t.Errorf("the context shows %q", m.Content)
				}
			}
			if _, err := r.gateway.Retry(context.Background(), waited.ID); !errors.Is(err, store.ErrConflict) {
				t.Errorf("an ignored message was tried again: %v", err)
			}
		})
	}
}

// What a turn reads may begin in the middle of another one: with an answer to somebody.
func TestAnswersToTheDeniedAtTheEdgeOfAHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.settings.MaxMessages = 5
	r.start()
	for _, m := range []*adapters.Message{said("m1", "eve", canary), said("m2", "eve", "more"), said("m3", "bob", "bob asked")} {
		r.say(m)
		r.ends(m.ID, models.InboundDone)
	}
	r.deny(nil)
	before := r.requests()
	r.say(said("m4", "ann", "what was said?"))
	r.ends("m4", models.InboundDone)
	r.silent(before)
	if !strings.Contains(r.heard(before), "re: bob asked") {
		t.Errorf("the agent was told: %s", r.heard(before))
	}
}

func TestFailedMessagesOfTheDeniedDoNotRunAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.mind.does(func(context.Context, *agents.Request) (*agents.Response, error) {
		return nil, &agents.Error{Kind: agents.Permanent, Err: errScripted}
	})
	r.say(said("m1", "eve", canary))
	failed := r.ends("m1", models.InboundFailed)
	r.mind.does(nil)
	r.deny(nil)
	before := r.requests()
	if _, err := r.gateway.Retry(context.Background(), failed.ID); err != nil {
		t.Fatal(err)
	}
	r.until("it has its outcome", func() bool { return r.inbound("m1").State == models.InboundIgnored })
	if r.requests() != before {
		t.Error("the agent was asked")
	}
}

func TestRevokedApprovalsHoldForWhatWasSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.chat.Access = access.Policy{Direct: access.Pairing, Groups: access.Pairing, Admins: []string{"root"}, AllowUsers: []string{"ann"}}
	r.start()
	grant := &models.AccessGrant{
		ID: "acc_1", Code: "P-222222", UserID: "eve", ChatID: "group", RequestedAt: clock.Real().Now(), ExpiresAt: clock.Real().Now().Add(access.Expiry),
		AccessSubject: models.AccessSubject{Channel: "chat", Account: "main", Kind: models.AccessUser, SubjectID: "eve"}, State: models.AccessPending,
	}
	if _, _, err := r.store.RequestAccess(context.Background(), grant, 10); err != nil {
		t.Fatal(err)
	}
	if _, err := r.gateway.DecideAccess(context.Background(), "P-222222", true); err != nil {
		t.Fatal(err)
	}
	r.say(said("m1", "eve", canary))
	r.ends("m1", models.InboundDone)
	r.say(overheard("m2", "eve", canary))
	r.say(said("m3", "ann", "hello"))
	r.ends("m3", models.InboundDone)
	if !strings.Contains(r.heard(1), canary) {
		t.Error("who is approved is not heard")
	}
	before := r.requests()
	if _, err := r.store.RemoveAccess(context.Background(), "acc_1"); err != nil {
		t.Fatal(err)
	}
	r.say(said("m4", "ann", "and now?"))
	r.ends("m4", models.InboundDone)
	r.silent(before)
}

func TestQuotesOfTheDenied(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	r.say(overheard("m1", "eve", canary))
	r.ends("m1", models.InboundObserved)
	r.deny(nil)
	quoting := func(id string, q adapters.Quote) *adapters.Message {
		m := said(id, "ann", "what is that? "+id)
		q.Text = canary
		m.Quote = &q
		m.Attachments = []adapters.Attachment{{Kind: adapters.Audio, Key: "k", Text: canary, Quoted: true}, {Kind: adapters.Audio, Key: "own", Text: "ann's own " + id}}
		return m
	}
	r.say(quoting("q1", adapters.Quote{MessageID: "m1", SenderName: "Eve"})) // known from the inbox
	r.say(quoting("q2", adapters.Quote{MessageID: "m0", SenderID: "eve"}))   // known from the platform
	observed := quoting("q3", adapters.Quote{MessageID: "m1"})
	observed.Mentioned = false
	r.say(observed)
	r.say(quoting("q4", adapters.Quote{SenderID: "eve"}))
	r.ends("q4", models.InboundDone)
	r.silent(0)
	for _, id := range []string{"q1", "q2", "q4"} {
		if !strings.Contains(r.heard(0), "ann's own "+id) {
			t.Errorf("the message's own attachment is missing from %s", id)
		}
	}
	bobs := said("q5", "ann", "and this?")
	bobs.Quote = &adapters.Quote{SenderID: "bob", Text: "bob's words"}
	r.say(bobs)
	r.ends("q5", models.InboundDone)
	if !strings.Contains(r.heard(0), "bob's words") {
		t.Error("other quotes are missing")
	}
	// What was quoted when it was allowed is withheld from the history as well.
	r.chat.Access.DenyUsers = []string{"bob"}
	r.gateway.Reload(r.settings)
	before := r.requests()
	r.say(said("q6", "ann", "and now?"))
	r.ends("q6", models.InboundDone)
	if strings.Contains(r.heard(before), "bob's words") {
		t.Error("a quote of the denied is in the history")
	}
}

func TestSummariesAreNotMadeOfWithheldWords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.settings.Compaction = gateway.Compaction{Enabled: true, MaxTokens: 100_000, Threshold: 0.8, MinMessages: 4, KeepRecent: 1}
	r.start()
	r.say(said("m1", "eve", canary))
	in := r.ends("m1", models.InboundDone)
	for _, id := range []string{"m2", "m3", "m4"} {
		r.say(said(id, "ann", strings.Repeat("more words ", 200)+id))
		r.ends(id, models.InboundDone)
	}
	r.deny(nil)
	r.mind.does(func(context.Context, *agents.Request) (*agents.Response, error) { return answer("a summary"), nil })
	before := r.requests()
	if _, err := r.gateway.Compact(context.Background(), in.SessionKey, "", "", false); err != nil {
		t.Fatal(err)
	}
	if r.requests() == before {
		t.Fatal("no summary was made")
	}
	r.silent(before)
}

// What is withheld is no reason to take the rules of a slot for a part of a longer history.
func TestRulesAreNotSummarisedBesideWithheldWords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.settings.Compaction = gateway.Compaction{Enabled: true, MaxTokens: 100_000, Threshold: 0.8, MinMessages: 4, KeepRecent: 1}
	r.start()
	ctx := context.Background()
	r.say(said("m0", "ann", "hello"))
	in := r.ends("m0", models.InboundDone)
	if err := r.store.ChangeSession(ctx, in.SessionKey, func(tx store.SessionTx) error {
		now := clock.Real().Now()
		rule := &models.SessionMessage{ID: models.NewMessageID(now), Role: models.RoleSystem, Content: "RULE-77 holds", TokenCount: 5, CreatedAt: now}
		return errors.Join(tx.Reset(models.DefaultSlot, 0, now), tx.Append(models.DefaultSlot, []*models.SessionMessage{rule}, now))
	}); err != nil {
		t.Fatal(err)
	}
	for i, who := range []string{"eve", "ann", "ann", "ann"} {
		id := fmt.Sprint("m", i+1)
		r.say(said(id, who, strings.Repeat("more words ", 200)+id))
		r.ends(id, models.InboundDone)
	}
	r.deny(nil)
	r.mind.does(func(context.Context, *agents.Request) (*agents.Response, error) { return answer("a summary"), nil })
	before := r.requests()
	c, err := r.gateway.Compact(ctx, in.SessionKey, "", "", false)
	if err != nil || c.Changed == 0 {
		t.Fatalf("%+v %v", c, err)
	}
	if asked := r.heard(before); strings.Contains(asked, "RULE-77") || strings.Contains(asked, "older messages") {
		t.Errorf("the request: %.2000s", asked)
	}
}
