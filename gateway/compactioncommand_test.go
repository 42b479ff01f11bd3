package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func TestCompactCommand(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 0)
	r.settings.Compaction.Enabled = false // who asks for it gets it all the same
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	r.summarises(func(*agenttest.ChatRequest) agenttest.Reply {
		<-gate
		return agenttest.Say("what was said")
	})
	r.start()
	defer open()
	r.talk(1)
	r.say(whisper("c0", "ann", "/compact"))
	if in := r.ends("c0", models.InboundDone); in.Reply.Content != text.Say(text.English, text.CompactNothing) {
		t.Errorf("reply %q", in.Reply.Content)
	}
	r.talk(5)
	r.say(whisper("c1", "ann", "/compact keep all prices"))
	r.until("the model is asked", func() bool { s, _ := r.requests(); return len(s) == 1 })
	if r.delivered(); r.shown(text.Say(text.English, text.CompactStarted, 8)) != 1 || r.inbound("c1").State != models.InboundRunning {
		t.Errorf("%s, screen %q", r.inbound("c1").State, r.delivered())
	}
	r.say(whisper("c2", "ann", "/压缩"))
	if in := r.ends("c2", models.InboundDone); in.Reply.Content != text.Say(text.English, text.CompactBusy) {
		t.Errorf("reply %q", in.Reply.Content)
	}
	r.talk(1) // the session goes on meanwhile
	open()
	in := r.ends("c1", models.InboundDone)
	if r.session().CompactionCount != 1 {
		t.Errorf("%+v", r.session())
	}
	s, _ := r.requests()
	if ask := s[0].Last("user").Text(); !strings.Contains(ask, "> keep all prices") {
		t.Errorf("the request:\n%s", ask)
	}
	if screen := r.delivered(); !strings.HasPrefix(in.Reply.Content, "Summarised 8 messages: ") || screen[len(screen)-1] != in.Reply.Content {
		t.Errorf("reply %q, screen %q", in.Reply.Content, screen)
	}
	if history := r.history("m1"); len(history) != 15 {
		t.Errorf("history %q", history)
	}
}

func TestCompactCommandOfASharedSessionIsForAdmins(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 0)
	r.chat.Access.Admins = []string{"boss"}
	r.start()
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	r.say(said("c1", "ann", "/compact"))
	if in := r.ends("c1", models.InboundDone); in.Reply.Content != text.Say(text.English, text.NeedsAdmin) {
		t.Errorf("reply %q", in.Reply.Content)
	}
	r.say(said("c2", "boss", "/compact"))
	if in := r.ends("c2", models.InboundDone); in.Reply.Content != text.Say(text.English, text.CompactNothing) {
		t.Errorf("reply %q", in.Reply.Content)
	}
}

// A budget that is used up refuses a summary as it does a turn; one that is made counts
// against the budgets of who asked for it.
func TestCompactCommandNeedsABudget(t *testing.T) {
	t.Parallel()
	r := newHeldRig(t)
	r.let()
	r.start()
	r.talk(6)
	settings := r.settings
	settings.Limits.TokensPerDay = map[store.BudgetKind]int64{store.BudgetUser: 10}
	r.gateway.Reload(settings)
	r.says("m7", long(7))
	r.say(whisper("c1", "ann", "/compact"))
	refused := r.ends("c1", models.InboundFailed)
	r.say(whisper("m8", "ann", long(8)))
	if turn := r.ends("m8", models.InboundFailed); refused.Code != models.CodeBudgetExceeded || refused.Error != turn.Error {
		t.Errorf("%s %q, a turn %s %q", refused.Code, refused.Error, turn.Code, turn.Error)
	}
	say := text.Say(text.English, text.BudgetUsedUp, 10, text.Say(text.English, text.BudgetOfUser))
	r.until("it is told", func() bool { return r.shown(say) == 2 }) // as the turn's is
	if r.session().CompactionCount != 0 {
		t.Errorf("%+v", r.session())
	}
	settings.Limits.TokensPerDay = map[store.BudgetKind]int64{store.BudgetUser: 1000}
	r.gateway.Reload(settings)
	before, err := r.gateway.Budget(context.Background(), store.BudgetUser, "chat/main/ann")
	r.must(err)
	r.says("c2", "/compact")
	r.until("it is counted", func() bool {
		after, err := r.gateway.Budget(context.Background(), store.BudgetUser, "chat/main/ann")
		r.must(err)
		return after.Tokens > before.Tokens
	})
	if r.session().CompactionCount != 1 {
		t.Errorf("%+v", r.session())
	}
}

// A refused command can be tried again, as a refused message can.
func TestRefusedCompactCommandIsTriedAgain(t *testing.T) {
	t.Parallel()
	r := newHeldRig(t)
	r.config.Lease = lease
	r.let()
	r.start()
	r.talk(6)
	settings := r.settings
	settings.Limits.TokensPerDay = map[store.BudgetKind]int64{store.BudgetUser: 10}
	r.gateway.Reload(settings)
	r.says("m7", long(7))
	r.say(whisper("c1", "ann", "/compact"))
	r.ends("c1", models.InboundFailed)
	r.gateway.Reload(r.settings)
	r.says("c2", "/retry")
	r.until("it is summarised", func() bool { return r.session().CompactionCount == 1 })
	r.ends("c1", models.InboundDone)
}

// What ends a session's work ends its summary; what changes it makes it void.
func TestWhatEndsASummary(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do    func(r *summaryRig)
		state models.InboundState
		say   text.ID
	}{
		"stop":   {func(r *summaryRig) { r.says("c2", "/stop") }, models.InboundCancelled, text.CompactStopped},
		"reset":  {func(r *summaryRig) { r.says("c2", "/reset") }, models.InboundSuperseded, ""},
		"cancel": {func(r *summaryRig) { _, err := r.gateway.Cancel(context.Background(), r.key(), false); r.must(err) }, models.InboundCancelled, text.CompactStopped},
		"undo":   {func(r *summaryRig) { r.says("c2", "/undo") }, models.InboundDone, text.CompactChanged},
		"recall": {func(r *summaryRig) { r.event(&adapters.Event{Kind: adapters.Recalled, MessageID: "c1"}) }, models.InboundCancelled, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newHeldRig(t)
			r.start()
			r.asksForASummary()
			c.do(r.summaryRig)
			r.ends("c1", c.state)
			if c.say != "" {
				r.until("it is told", func() bool { return r.shown(text.Say(text.English, c.say)) == 1 })
			}
			r.until("the model is not asked any more", func() bool { return r.held.Load() == 0 })
			if s := r.session(); s.CompactionCount != 0 || s.CompactedSummary != "" {
				t.Errorf("%+v", s)
			}
		})
	}
}

// Emptying one slot is nothing to the summary of another, whoever does it.
func TestASummaryGoesOnWhileAnotherSlotIsEmptied(t *testing.T) {
	t.Parallel()
	for name, empty := range map[string]func(r *summaryRig){
		"reset":          func(r *summaryRig) { r.says("c3", "/reset") },
		"by an operator": func(r *summaryRig) { _, err := r.gateway.Reset(context.Background(), r.key(), false); r.must(err) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newHeldRig(t)
			r.start()
			r.asksForASummary()
			r.says("c2", "/new other")
			r.says("m7", "hello")
			empty(r.summaryRig)
			r.let()
			if in := r.ends("c1", models.InboundDone); !strings.HasPrefix(in.Reply.Content, "Summarised 8 messages: ") || r.session().CompactionCount != 1 {
				t.Errorf("reply %q, %+v", in.Reply.Content, r.session())
			}
		})
	}
}

// A summary that a turn waits for ends with the turn.
func TestStopEndsTheSummaryOfATurn(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 0)
	gate := make(chan struct{})
	r.summarises(func(*agenttest.ChatRequest) agenttest.Reply {
		<-gate
		return agenttest.Say("too late")
	})
	r.start()
	defer close(gate)
	r.talk(4)
	before := r.everything()
	r.say(whisper("m5", "ann", long(5)))
	r.until("the model is asked for a summary", func() bool { s, _ := r.requests(); return len(s) == 1 })
	r.say(whisper("c1", "ann", "/stop"))
	r.ends("m5", models.InboundCancelled)
	if after := r.everything(); after != before {
		t.Errorf("the session changed:\n%s\nbefore:\n%s", after, before)
	}
}

func TestDeletedSessionDoesNotComeBackByASummary(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 0)
	asked, gate := make(chan struct{}, 1), make(chan struct{})
	r.summarises(func(*agenttest.ChatRequest) agenttest.Reply {
		asked <- struct{}{}
		<-gate
		return agenttest.Say("too late")
	})
	r.settings.Compaction.Enabled = false
	r.start()
	r.talk(6)
	key := r.key()
	done := make(chan error, 1)
	go func() {
		_, err := r.gateway.Compact(context.Background(), key, "", "", false)
		done <- err
	}()
	<-asked
	_, err := r.gateway.Delete(context.Background(), key, false)
	r.must(err)
	close(gate)
	if err := <-done; !errors.Is(err, gateway.ErrSummary) {
		t.Errorf("the summary: %v", err)
	}
	if _, err := r.store.Session(context.Background(), key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the session: %v", err)
	}
}

// Turns commit while summaries are made, one after the other, and none is lost.
func TestTurnsCommitWhileSummariesAreMade(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 0)
	r.settings.Compaction.KeepRecent, r.settings.Compaction.Enabled = 2, false
	r.start()
	r.talk(2)
	key, stop, ended := r.key(), make(chan struct{}), make(chan struct{})
	var made atomic.Int64
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
			}
			compacted, err := r.gateway.Compact(context.Background(), key, "", "", false)
			if err != nil && !errors.Is(err, gateway.ErrSummary) {
				t.Error(err)
			}
			if compacted.Changed > 0 {
				made.Add(1)
			}
		}
	}()
	r.talk(30)
	r.until("there were summaries", func() bool { return made.Load() > 0 })
	close(stop)
	<-ended
	var talk []string
	for _, line := range r.history("m1") {
		if !strings.HasPrefix(line, "system ") {
			talk = append(talk, line)
		}
	}
	for n := 1; n <= 32; n++ {
		if talk[2*n-2] != "user "+strings.TrimSpace(long(n)) && talk[2*n-2] != "user "+long(n) {
			t.Fatalf("turn %d is %q", n, talk[2*n-2])
		}
	}
	stored, err := r.store.LoadContext(context.Background(), key, "", 1000)
	r.must(err)
	if stored.Summary == nil || int64(r.session().CompactionCount) != made.Load() || len(talk) != 64 {
		t.Errorf("%d summaries made, %d counted, %d messages", made.Load(), r.session().CompactionCount, len(talk))
	}
}

var secret = regexp.MustCompile(`SECRET-\d\d`)

// Nothing of one session is in what is made of another.
func TestSummariesStayInTheirSessions(t *testing.T) {
	t.Parallel()
	const people = 12
	r := newSummaryRig(t, 100_000, 0)
	r.summarises(func(req *agenttest.ChatRequest) agenttest.Reply {
		return agenttest.Say("told: " + secret.FindString(req.Last("user").Text()))
	})
	r.start()
	for turn := range 6 {
		for p := range people {
			r.say(whisper(fmt.Sprintf("m%d-%d", p, turn), fmt.Sprint("person", p), fmt.Sprintf("SECRET-%02d, %s", p, long(turn))))
		}
		for p := range people {
			r.ends(fmt.Sprintf("m%d-%d", p, turn), models.InboundDone)
		}
	}
	summaries, answers := r.requests()
	if len(summaries) < people {
		t.Errorf("%d summaries", len(summaries))
	}
	for _, req := range append(summaries, answers...) {
		all := string(req.Body)
		if own := secret.FindString(all); own == "" || strings.Count(all, "SECRET-") != strings.Count(all, own) {
			t.Errorf("secrets of several sessions in one request:\n%s", all)
		}
	}
}
