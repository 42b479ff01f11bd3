package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
)

// A failure leaves the history as it was, is said once, and does not cost every turn
// another request.
func TestFailedSummaryIsSaidOnce(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]agenttest.Reply{
		"refused": agenttest.Fail(http.StatusBadRequest, "bad", "no summaries here"),
		"empty":   {Text: "", FinishReason: "stop"},
		"long":    agenttest.Say(strings.Repeat("endless words ", 500)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newSummaryRig(t, 100_000, 0)
			r.summarises(func(*agenttest.ChatRequest) agenttest.Reply { return reply })
			r.start()
			r.talk(4)
			r.talk(3)
			summaries, answers := r.requests()
			if len(summaries) != 1 {
				t.Errorf("%d requests for a summary", len(summaries))
			}
			if len(answers) != 7 || r.session().CompactionCount != 0 || len(r.history("m1")) != 14 {
				t.Errorf("%d answers, session %+v", len(answers), r.session())
			}
			notices := 0
			for _, line := range r.delivered() {
				if strings.HasPrefix(line, "(This conversation could not be summarised") {
					notices++
				}
			}
			if notices != 1 {
				t.Errorf("%d notices in %q", notices, r.delivered())
			}
			if refused := r.provider.Rejections(); len(refused) > 0 {
				t.Errorf("refused as malformed: %+v", refused)
			}
		})
	}
}

// Who fetches the answer is told with it.
func TestFailedSummaryIsSaidToWhoFetches(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 0)
	r.summarises(func(*agenttest.ChatRequest) agenttest.Reply {
		return agenttest.Fail(http.StatusBadRequest, "bad", "no summaries here")
	})
	r.start()
	var told []string
	for i := range 7 {
		told = append(told, r.fetched(fmt.Sprint("m", i+1), long(i+1)).Reply.Notices...)
	}
	if len(told) != 1 || !strings.HasPrefix(told[0], "(This conversation could not be summarised") {
		t.Errorf("told %q", told)
	}
}

// A model that never comes back with a summary costs a turn half of its time.
func TestSummaryHasADeadline(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 0)
	agent := r.settings.Agents["assistant"]
	agent.Timeout = 8 * time.Second
	r.settings.Agents["assistant"] = agent
	gate := make(chan struct{})
	r.summarises(func(*agenttest.ChatRequest) agenttest.Reply {
		<-gate
		return agenttest.Say("too late")
	})
	r.start()
	defer close(gate)
	r.talk(5)
	if s := r.session(); s.CompactionCount != 0 || len(r.history("m1")) != 10 {
		t.Errorf("%+v", s)
	}
	if n := len(r.delivered()); n != 6 { // with the notice
		t.Errorf("screen %q", r.delivered())
	}
}

// Who starts again knows of an earlier process's notice.
func TestFailedSummaryIsSaidOnceByAllReplicas(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 0)
	r.summarises(func(*agenttest.ChatRequest) agenttest.Reply {
		return agenttest.Fail(http.StatusBadRequest, "bad", "no")
	})
	notices := func() int {
		n := 0
		for _, line := range r.delivered() {
			if strings.HasPrefix(line, "(This conversation could not be summarised") {
				n++
			}
		}
		return n
	}
	drain := r.run()
	r.talk(5)
	r.until("it is told", func() bool { return notices() == 1 })
	r.must(<-drain())
	drain = r.run()
	r.talk(1)
	if summaries, _ := r.requests(); len(summaries) != 2 {
		t.Errorf("%d requests for a summary", len(summaries))
	}
	r.must(<-drain())
	if n := notices(); n != 1 {
		t.Errorf("%d notices", n)
	}
}

// A provider's window that is smaller than it was said to be leads to one summary and
// one more request.
func TestOverflowLeadsToOneSummaryAndOneRetry(t *testing.T) {
	t.Parallel()
	r := newSummaryRig(t, 100_000, 700)
	r.settings.Agents["small"] = r.settings.Agents["assistant"]
	r.settings.Compaction.MaxTokens = 1_000_000
	small := r.settings.Agents["small"]
	small.ContextWindow = 1200 // it summarises little at a time
	r.settings.Agents["small"], r.settings.Compaction.Agent = small, "small"
	r.start()
	r.talk(10)
	if n := r.session().CompactionCount; n < 1 || n > 3 {
		t.Errorf("%d compactions", n)
	}
	refused := 0
	for _, rejection := range r.provider.Rejections() {
		if rejection.Code != "context_length_exceeded" {
			t.Errorf("refused: %+v", rejection)
		}
		if !strings.Contains(rejection.Body, "You condense") {
			refused++
		}
	}
	_, answers := r.requests()
	if refused < 1 || refused > 3 || len(answers) != 10 {
		t.Errorf("%d refusals, %d answers", refused, len(answers))
	}
	equal(t, "screen", r.delivered(), long(1), long(2), long(3), long(4), long(5), long(6), long(7), long(8), long(9), long(10))
}

// Where nothing may be summarised, or nothing helps, there is one more request at
// most, and then a clear failure.
func TestOverflowWithoutASummary(t *testing.T) {
	t.Parallel()
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		r := newSummaryRig(t, 100_000, 700)
		r.settings.Compaction.Enabled = false
		r.start()
		r.talk(10)
		if summaries, answers := r.requests(); len(summaries) > 0 || len(answers) != 10 {
			t.Errorf("%d summaries, %d answers", len(summaries), len(answers))
		}
	})
	t.Run("in vain", func(t *testing.T) {
		t.Parallel()
		r := newSummaryRig(t, 100_000, 0)
		r.settings.Compaction.MaxTokens = 1_000_000
		r.start()
		r.talk(5)
		_, before := r.requests()
		r.answers(func(*agenttest.ChatRequest) agenttest.Reply {
			return agenttest.Fail(http.StatusBadRequest, "context_length_exceeded", "too long")
		})
		r.say(whisper("m6", "ann", long(6)))
		if in := r.ends("m6", models.InboundFailed); in.Code != models.CodeTooLarge {
			t.Errorf("%s %s", in.Code, in.Error)
		}
		summaries, answers := r.requests()
		if len(summaries) != 1 || len(answers)-len(before) != 2 {
			t.Errorf("%d summaries, %d requests", len(summaries), len(answers)-len(before))
		}
		if r.shown(text.Say(text.English, text.ContextFull)) != 1 {
			t.Errorf("screen %q", r.delivered())
		}
		r.answer.Store(nil)
		r.said++
		r.talk(1)
	})
}
