package storetest

import (
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// This file holds the steps that the tests are written in.

// message makes a request to accept a message of a session.
func (f *fixture) message(key string, options ...func(*store.AcceptRequest)) *store.AcceptRequest {
	r := NewMessage(key, f.now)
	for _, option := range options {
		option(r)
	}
	return r
}

func from(sender string) func(*store.AcceptRequest) {
	return func(r *store.AcceptRequest) { r.Inbound.SenderID = sender }
}

func received(at time.Time) func(*store.AcceptRequest) {
	return func(r *store.AcceptRequest) { r.Inbound.ReceivedAt = at }
}

func dedup(keys ...string) func(*store.AcceptRequest) {
	return func(r *store.AcceptRequest) { r.DedupKeys = keys }
}

func kind(k models.InboundKind) func(*store.AcceptRequest) {
	return func(r *store.AcceptRequest) { r.Inbound.Kind = k }
}

func toSlot(slot string) func(*store.AcceptRequest) {
	return func(r *store.AcceptRequest) { r.Inbound.Slot = slot }
}

func claimed(c store.ClaimRequest) func(*store.AcceptRequest) {
	return func(r *store.AcceptRequest) { r.Claim = &c }
}

// accept stores a new message.
func (f *fixture) accept(r *store.AcceptRequest) *store.Accepted {
	f.Helper()
	a, err := f.Accept(f.ctx, r)
	f.ok(err)
	if a.Duplicate || a.Inbound == nil {
		f.Fatalf("a new message was taken for a duplicate: %+v", a)
	}
	return a
}

// waiting stores a message that waits in its lane.
func (f *fixture) waiting(key string, options ...func(*store.AcceptRequest)) *models.Inbound {
	f.Helper()
	return f.accept(f.message(key, options...)).Inbound
}

// start accepts a message and claims its idle lane: the turn runs.
func (f *fixture) start(key string, options ...func(*store.AcceptRequest)) *store.Turn {
	f.Helper()
	a := f.accept(f.message(key, append(options, claimed(claim()))...))
	if a.Claim == nil {
		f.Fatalf("an idle lane was not claimed")
	}
	return &store.Turn{Claim: *a.Claim, Inbounds: []*models.Inbound{a.Inbound}}
}

// begin takes the next turn of a claimed lane, without merging.
func (f *fixture) begin(c store.Claim) *store.Turn {
	f.Helper()
	turn, err := f.BeginTurn(f.ctx, c, store.MergeRule{})
	f.ok(err)
	if turn == nil {
		f.Fatalf("nothing waits in %q", c.SessionKey)
	}
	return turn
}

// claimLane claims the one lane that is due.
func (f *fixture) claimLane(c store.ClaimRequest) store.Claim {
	f.Helper()
	claims, err := f.ClaimLanes(f.ctx, c, 10)
	f.ok(err)
	if len(claims) != 1 {
		f.Fatalf("claimed %d lanes, want 1", len(claims))
	}
	return claims[0]
}

// takeOver waits for the lease of a lane to end and claims it.
func (f *fixture) takeOver(key string) store.Claim {
	f.Helper()
	var won store.Claim
	f.eventually("take-over of the lane", func() bool {
		claims, err := f.ClaimLanes(f.ctx, claim(), 10)
		f.ok(err)
		for _, c := range claims {
			if c.SessionKey == key {
				won = c
				return true
			}
		}
		return false
	})
	return won
}

// noLane checks that no lane can be claimed.
func (f *fixture) noLane() {
	f.Helper()
	claims, err := f.ClaimLanes(f.ctx, claim(), 10)
	f.ok(err)
	if len(claims) != 0 {
		f.Fatalf("claimed %+v, want nothing", claims)
	}
}

// noTurn checks that no lane has anything to do; one that is due all the same falls idle.
func (f *fixture) noTurn() {
	f.Helper()
	claims, err := f.ClaimLanes(f.ctx, claim(), 100)
	f.ok(err)
	for _, c := range claims {
		turn, err := f.BeginTurn(f.ctx, c, store.MergeRule{})
		f.ok(err)
		if turn != nil {
			f.Fatalf("%v run, want nothing", ids(turn.Inbounds))
		}
	}
	f.noLane()
}

// said makes a message of a conversation.
func (f *fixture) said(role models.Role, content string) *models.SessionMessage {
	return NewSessionMessage(role, content, f.now)
}

// newSession describes a session.
func (f *fixture) newSession(key string) *models.Session { return NewSession(key, f.now) }

// answer makes the commit of a turn that answers its message with text.
func (f *fixture) answer(turn *store.Turn, text string, options ...func(*store.TurnCommit)) *store.TurnCommit {
	c := NewAnswer(turn, text, f.now)
	for _, option := range options {
		option(c)
	}
	return c
}

func keep(d time.Duration) func(*store.TurnCommit) {
	return func(c *store.TurnCommit) { c.Keep = d }
}

func deliver(deliveries ...*models.Delivery) func(*store.TurnCommit) {
	return func(c *store.TurnCommit) { c.Deliveries = deliveries }
}

// commit stores what a turn came to.
func (f *fixture) commit(c *store.TurnCommit) *store.TurnCommitted {
	f.Helper()
	done, err := f.CommitTurn(f.ctx, c)
	f.ok(err)
	return done
}

// turn runs a whole turn of an idle lane.
func (f *fixture) turn(key, text string, options ...func(*store.AcceptRequest)) *models.Inbound {
	f.Helper()
	turn := f.start(key, options...)
	f.commit(f.answer(turn, text))
	return turn.Inbounds[0]
}

// change changes a session.
func (f *fixture) change(key string, change func(tx store.SessionTx) error) {
	f.Helper()
	f.ok(f.ChangeSession(f.ctx, key, change))
}

// inbound reads a message.
func (f *fixture) inbound(id string) *models.Inbound {
	f.Helper()
	in, err := f.Inbound(f.ctx, id)
	f.ok(err)
	return in
}

// state checks how far messages are.
func (f *fixture) state(want models.InboundState, ids ...string) {
	f.Helper()
	for _, id := range ids {
		if in := f.inbound(id); in.State != want {
			f.Fatalf("message %s is %s, want %s", id, in.State, want)
		}
	}
}

// session reads a session.
func (f *fixture) session(key string) *models.Session {
	f.Helper()
	s, err := f.Session(f.ctx, key)
	f.ok(err)
	return s
}

// history reads what a slot holds.
func (f *fixture) history(key, slot string) []string {
	f.Helper()
	messages, err := f.Messages(f.ctx, key, slot, 0, 1000)
	f.ok(err)
	return contents(messages)
}

// create makes a session with messages in its default slot.
func (f *fixture) create(key string, texts ...string) *models.Session {
	f.Helper()
	s := f.newSession(key)
	f.ok(f.CreateSession(f.ctx, s))
	f.add(key, texts...)
	return s
}

// add appends one message for each text to a session.
func (f *fixture) add(key string, texts ...string) {
	f.Helper()
	for _, text := range texts {
		f.ok(f.AppendMessages(f.ctx, key, []*models.SessionMessage{f.said(models.RoleUser, text)}))
	}
}

// numbered returns prefix-1 to prefix-n.
func numbered(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s-%d", prefix, i+1)
	}
	return out
}
