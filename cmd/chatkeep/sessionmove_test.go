package main

import (
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
)

func TestSessionArchive(t *testing.T) {
	p := newPlace(t, "")
	p.ask("one")
	k := p.sessions()[0].Key
	change := func(want gateway.Change, args ...string) {
		t.Helper()
		if got := decode[gateway.Change](t, p.must(append([]string{"session", args[0], "--json", k}, args[1:]...)...)); got != want {
			t.Errorf("%v: %+v, want %+v", args, got, want)
		}
	}
	state := func(want models.SessionState) {
		t.Helper()
		if got := p.sessions()[0].State; got != want {
			t.Errorf("it is %s, want %s", got, want)
		}
	}
	change(gateway.Change{Changed: 1, DryRun: true}, "archive", "--dry-run")
	state(models.SessionActive)
	change(gateway.Change{Changed: 1}, "archive")
	state(models.SessionArchived)
	p.command("", "session", "archive", k).wants(t, exitDone, "sessions archived: 0 (archived already)\n", "")
	if got := decode[page[*models.Session]](t, p.must("session", "list", "--json", "--state", "archived")); len(got.Items) != 1 {
		t.Errorf("%d archived", len(got.Items))
	}
	change(gateway.Change{Changed: 1}, "restore")
	state(models.SessionActive)
	change(gateway.Change{Skipped: 1, Reason: "active already"}, "restore")
	change(gateway.Change{Changed: 1}, "archive")
	p.ask("two").wants(t, exitDone, "two\n", "archived")
	state(models.SessionActive)
	for _, what := range []string{"archive", "restore"} {
		p.command("", "session", what, aKey).wants(t, exitFailed, "", "there is no session")
	}
}

func TestSessionMove(t *testing.T) {
	p := newPlace(t, "")
	p.ask("one")
	p.ask("/new side")
	p.ask("two")
	p.ask("/remember the answer is 42")
	from := p.sessions()[0].Key
	to := strings.TrimSuffix(from, "default") + "elsewhere"
	move := func(args ...string) result {
		return p.command("", append([]string{"session", "move", "--from", from, "--to", to}, args...)...)
	}
	move("--dry-run").wants(t, exitDone, "dry run: sessions moved: 1\n", "")
	if got := p.sessions()[0].Key; got != from {
		t.Errorf("a dry run moved it to %s", got)
	}
	if got := decode[gateway.Change](t, p.must("session", "move", "--json", "--from", from, "--to", to)); got != (gateway.Change{Changed: 1}) {
		t.Errorf("%+v", got)
	}
	all := p.sessions()
	if len(all) != 1 || all[0].Key != to || all[0].CurrentSlot != "side" || all[0].MessageCount != 4 || !strings.HasSuffix(all[0].ScopeID, "/elsewhere") {
		t.Errorf("%+v", all)
	}
	if text := p.must("session", "history", "--slot", "default", to); !strings.Contains(text, "one") {
		t.Errorf("%s", text)
	}
	if r := p.ask("--session", "elsewhere", "/memory"); !strings.Contains(r.out, "42") {
		t.Errorf("%+v", r)
	}
	move().wants(t, exitFailed, "", "there is no session")
	p.ask("three")
	move().wants(t, exitFailed, "", "there is a session "+to+" already")
}

// A session of an agent that is not configured may be kept, but not without a word.
func TestStrangeAgentIsNamed(t *testing.T) {
	p := newPlace(t, "")
	p.ask("one")
	from := p.sessions()[0].Key
	k, err := key.Parse(from)
	if err != nil {
		t.Fatal(err)
	}
	to := strings.Replace(from, "agent:"+k.AgentID+":", "agent:stranger:", 1)
	p.command("", "session", "move", "--from", from, "--to", to).wants(t, exitDone, "sessions moved: 1\n", "agent stranger")
	whole := p.must("session", "export", to)
	p.must("session", "delete", to)
	p.command(whole, "session", "import", "-").wants(t, exitDone, "imported "+to+": 1 slots, 2 messages\n", "agent stranger")
}
