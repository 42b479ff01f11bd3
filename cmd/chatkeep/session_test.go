package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/transfer"
)

func TestSessionList(t *testing.T) {
	p := newPlace(t, "agents: [{id: one, kind: echo}, {id: two, kind: echo}]\n")
	p.command("", "session", "list").wants(t, exitDone, "", "no sessions")
	if got := p.must("session", "list", "--json"); got != `{"items":[],"nextCursor":""}`+"\n" {
		t.Errorf("empty list is %s", got)
	}
	for i := range 5 {
		p.ask("--session", fmt.Sprint("s", i), "--agent", []string{"one", "two"}[i%2], "hello")
	}
	list := func(args ...string) page[*models.Session] {
		return decode[page[*models.Session]](t, p.must(append([]string{"session", "list", "--json"}, args...)...))
	}
	for want, args := range map[int][]string{
		5: {}, 3: {"--agent", "one"}, 0: {"--agent", "three"}, 2: {"--agent", "two", "--channel", "cli", "--scope", "per_channel_peer", "--state", "active"},
	} {
		if got := list(args...); len(got.Items) != want || got.NextCursor != "" {
			t.Errorf("%v: %d sessions, cursor %q", args, len(got.Items), got.NextCursor)
		}
	}
	if n := len(list("--channel", "api").Items) + len(list("--scope", "thread").Items) + len(list("--state", "archived").Items); n != 0 {
		t.Errorf("%d sessions too many", n)
	}
	var seen []string
	for cursor := ""; ; {
		got := list("--limit", "2", "--cursor", cursor)
		for _, s := range got.Items {
			seen = append(seen, s.Key[strings.LastIndex(s.Key, "/")+1:])
		}
		if cursor = got.NextCursor; cursor == "" {
			break
		}
	}
	if strings.Join(seen, " ") != "s4 s3 s2 s1 s0" {
		t.Errorf("pages hold %v", seen)
	}
	r := p.command("", "session", "list", "--limit", "2")
	if r.code != exitDone || strings.Count(r.out, "\n") != 3 || !strings.HasPrefix(r.out, "KEY") || !strings.Contains(r.err, "more: --cursor ") {
		t.Errorf("exit %d: %q, %q", r.code, r.out, r.err)
	}
}

func TestSessionReads(t *testing.T) {
	p := newPlace(t, "")
	p.ask("one")
	p.ask("two")
	p.ask("/new side")
	p.ask("three")
	k := p.sessions()[0].Key

	view := decode[sessionView](t, p.must("session", "show", "--json", k))
	if view.Key != k || view.MessageCount != 6 || len(view.Slots) != 2 || view.Slots[1].ID != "side" || !view.Slots[1].Current || view.Slots[0].MessageCount != 4 {
		t.Errorf("%+v %+v", view.Session, view.Slots)
	}
	if text := p.must("session", "show", k); !strings.Contains(text, "slot side") || !strings.Contains(text, k) {
		t.Error(text)
	}

	history := func(args ...string) page[*models.SessionMessage] {
		return decode[page[*models.SessionMessage]](t, p.must(append([]string{"session", "history", "--json", k}, args...)...))
	}
	if got := contents(history().Items); strings.Join(got, "|") != "three|three" {
		t.Errorf("current slot holds %v", got)
	}
	newest := history("--slot", "default", "--limit", "3")
	if got := contents(newest.Items); strings.Join(got, "|") != "one|two|two" || newest.NextCursor != "2" {
		t.Errorf("%v, cursor %q", got, newest.NextCursor)
	}
	if older := history("--slot", "default", "--before", newest.NextCursor); len(older.Items) != 1 || older.NextCursor != "" {
		t.Errorf("%d older, cursor %q", len(older.Items), older.NextCursor)
	}
	if text := p.must("session", "history", k); !strings.HasPrefix(text, "[1] ") || !strings.Contains(text, "\nthree\n") {
		t.Error(text)
	}

	for args, lines := range map[string]int{"": 2 + 2 + 6 + 1, "--slot side": 2 + 1 + 2 + 1, "--json": 11} {
		text := p.must(append([]string{"session", "export", k}, strings.Fields(args)...)...)
		if got := strings.Split(strings.TrimSpace(text), "\n"); len(got) != lines || decode[transfer.Record](t, got[0]).Header == nil {
			t.Errorf("export %s: %d lines:\n%s", args, len(got), text)
		}
	}
	if text := p.must("session", "export", "--format", "markdown", k); !strings.HasPrefix(text, "# ") {
		t.Error(text)
	}
	if text := p.must("session", "export", "--format", "html", k); !strings.HasPrefix(text, "<!DOCTYPE html>") {
		t.Error(text)
	}
	p.command("", "session", "export", k, "--slot", "nowhere").wants(t, exitFailed, "", `no slot "nowhere"`)
	p.command("", "session", "history", k, "--slot", "nowhere").wants(t, exitFailed, "", `no slot "nowhere"`)
	for _, what := range []string{"show", "history", "export", "reset", "delete"} {
		p.command("", "session", what, aKey).wants(t, exitFailed, "", "there is no session")
	}
	p.command("", "session", "restore", "--reset", "latest", aKey).wants(t, exitFailed, "", "there is no session")
}

func TestSessionChanges(t *testing.T) {
	p := newPlace(t, "")
	p.ask("one")
	k := p.sessions()[0].Key
	change := func(want gateway.Change, args ...string) {
		t.Helper()
		if got := decode[gateway.Change](t, p.must(append([]string{"session", args[0], "--json", k}, args[1:]...)...)); got != want {
			t.Errorf("%v: %+v, want %+v", args, got, want)
		}
	}
	holds := func(want string) {
		t.Helper()
		if got := strings.Join(contents(p.history()), "|"); got != want {
			t.Errorf("history is %q, want %q", got, want)
		}
	}
	p.command("", "session", "restore", "--reset", "latest", k).wants(t, exitFailed, "", "nothing to restore")
	change(gateway.Change{Changed: 2, DryRun: true}, "reset", "--dry-run")
	holds("one|one")
	change(gateway.Change{Changed: 2}, "reset")
	holds("")
	change(gateway.Change{Changed: 1, DryRun: true}, "restore", "--reset", "latest", "--dry-run")
	holds("")
	change(gateway.Change{Changed: 1}, "restore", "--reset", "latest")
	holds("one|one")
	change(gateway.Change{Changed: 2, DryRun: true}, "delete", "--dry-run")
	holds("one|one")
	p.command("", "session", "delete", "--dry-run", k).wants(t, exitDone, "dry run: session deleted with its messages: 2\n", "")
	change(gateway.Change{Changed: 2}, "delete")
	p.command("", "session", "show", k).wants(t, exitFailed, "", "there is no session")
	p.ask("again").wants(t, exitDone, "again\n", "")
	holds("again|again")
}
