package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
)

func TestSessionCompact(t *testing.T) {
	model := agenttest.NewServer(agenttest.ServerOptions{})
	model.Otherwise(func(r *agenttest.ChatRequest) agenttest.Reply {
		if strings.HasPrefix(r.Messages[0].Text(), "You condense") {
			return agenttest.Say("what was said")
		}
		return agenttest.Say("noted, and so on and so on and so on and so on and so on and so on")
	})
	p := withModel(t, model)
	p.ask("hello")
	k := p.sessions()[0].Key
	compacted := func(args ...string) gateway.Compacted {
		t.Helper()
		return decode[gateway.Compacted](t, p.must(append([]string{"session", "compact", "--json", k}, args...)...))
	}
	if got := compacted(); got.Changed != 0 || got.Reason != "too_short" {
		t.Errorf("%+v", got)
	}
	for i := range 9 {
		p.ask(fmt.Sprintf("message %d about A-100%d and so on and so on and so on and so on", i, i))
	}
	asked := len(model.Requests())
	if got := compacted("--dry-run"); got.Changed != 10 || got.Skipped != 10 || !got.DryRun || len(model.Requests()) != asked {
		t.Errorf("dry run: %+v after %d requests", got, len(model.Requests())-asked)
	}
	if text := p.must("session", "compact", k, "--dry-run"); !strings.HasPrefix(text, "dry run: messages to summarise: 10, to keep: 10;") {
		t.Error(text)
	}
	if got := compacted("--instructions", "heed the orders"); got.Changed != 10 || got.Slot != models.DefaultSlot || got.TokensAfter >= got.TokensBefore {
		t.Errorf("%+v", got)
	}
	if ask := model.Requests()[asked].Last("user").Text(); !strings.Contains(ask, "> heed the orders") {
		t.Errorf("the request:\n%s", ask)
	}
	session := p.sessions()[0]
	if session.CompactionCount != 1 || session.State != models.SessionCompacted || !strings.Contains(session.CompactedSummary, "A-1003") {
		t.Errorf("%+v", session)
	}
	p.ask("and then?")
	if all := string(model.Requests()[asked+1].Body); !strings.Contains(all, "what was said") || strings.Contains(all, "message 3") {
		t.Errorf("the next request:\n%s", all)
	}
	p.command("", "session", "compact", k, "--slot", "nowhere").wants(t, exitFailed, "", `no slot "nowhere"`)
	p.command("", "session", "compact", k+"x").wants(t, exitFailed, "", "there is no session")
	p.command("", "session", "compact", "what").wants(t, exitUsage, "", "chatkeep session list")

	// A command of the conversation has its summary made before the program ends.
	for i := range 5 {
		p.ask(fmt.Sprintf("more %d about A-200%d and so on and so on and so on", i, i))
	}
	p.ask("/compact")
	if session := p.sessions()[0]; session.CompactionCount != 2 || !strings.Contains(session.CompactedSummary, "A-1008") {
		t.Errorf("%+v", session)
	}

	for i := range 5 {
		p.ask(fmt.Sprintf("yet more %d and so on and so on and so on", i))
	}
	model.Otherwise(func(*agenttest.ChatRequest) agenttest.Reply {
		return agenttest.Fail(http.StatusBadRequest, "bad", "no")
	})
	before := p.must("session", "export", k)
	p.command("", "session", "compact", k).wants(t, exitFailed, "", "the context stays as it is")
	if after := p.must("session", "export", k); after != before {
		t.Errorf("the session changed:\n%s", after)
	}
}
