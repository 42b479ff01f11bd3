package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

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
	r.summarises(func(*agenttest.ChatRequest) agenttest.Reply {
		<-gate
		return agenttest.Say("what was said")
	})
	r.start()
	r.talk(1)
	r.say(whisper("c0", "ann", "/compact"))
	if in := r.ends("c0", models.InboundDone); in.Reply.Content != text.Say(text.English, text.CompactNothing) {
		t.Errorf("reply %q", in.Reply.Content)
	}
	r.talk(5)
	r.say(whisper("c1", "ann", "/compact keep all prices"))
	if in := r.ends("c1", models.InboundDone); in.Reply.Content != text.Say(text.English, text.CompactStarted, 8) {
		t.Errorf("reply %q", in.Reply.Content)
	}
	r.until("the model is asked", func() bool { s, _ := r.requests(); return len(s) == 1 })
	r.say(whisper("c2", "ann", "/压缩"))
	if in := r.ends("c2", models.InboundDone); in.Reply.Content != text.Say(text.English, text.CompactBusy) {
		t.Errorf("reply %q", in.Reply.Content)
	}
	r.talk(1) // the session goes on meanwhile
	close(gate)
	r.until("it is summarised", func() bool { return r.session().CompactionCount == 1 })
	s, _ := r.requests()
	if ask := s[0].Last("user").Text(); !strings.Contains(ask, "> keep all prices") {
		t.Errorf("the request:\n%s", ask)
	}
	var said string
	r.until("it is told", func() bool {
		screen := r.delivered()
		said = screen[len(screen)-1]
		return strings.HasPrefix(said, "Summarised 8 messages: ")
	})
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

// What ends a session's work ends its summary; what changes it makes it void.
func TestWhatEndsASummary(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do  func(r *summaryRig)
		say text.ID
	}{
		"stop":   {func(r *summaryRig) { r.say(whisper("c2", "ann", "/stop")); r.ends("c2", models.InboundDone) }, text.CompactStopped},
		"reset":  {func(r *summaryRig) { r.say(whisper("c2", "ann", "/reset")); r.ends("c2", models.InboundDone) }, text.CompactStopped},
		"cancel": {func(r *summaryRig) { _, err := r.gateway.Cancel(context.Background(), r.key(), false); r.must(err) }, text.CompactStopped},
		"undo":   {func(r *summaryRig) { r.say(whisper("c2", "ann", "/undo")); r.ends("c2", models.InboundDone) }, text.CompactChanged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newSummaryRig(t, 100_000, 0)
			r.settings.Compaction.Enabled = false
			gate := make(chan struct{})
			r.summarises(func(*agenttest.ChatRequest) agenttest.Reply {
				<-gate
				return agenttest.Say("too late")
			})
			r.start()
			defer close(gate)
			r.talk(6)
			r.say(whisper("c1", "ann", "/compact"))
			r.ends("c1", models.InboundDone)
			r.until("the model is asked", func() bool { s, _ := r.requests(); return len(s) == 1 })
			c.do(r)
			if c.say == text.CompactChanged {
				gate <- struct{}{}
			}
			r.until("it is told", func() bool { return r.shown(text.Say(text.English, c.say)) > 0 })
			if s := r.session(); s.CompactionCount != 0 || s.CompactedSummary != "" {
				t.Errorf("%+v", s)
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
