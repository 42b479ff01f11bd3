package main

import (
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
)

func TestSlots(t *testing.T) {
	p := newPlace(t, "session: {slots: [{id: handbook, messages: [{role: user, content: rules}]}]}\n")
	p.ask("one")
	k := p.sessions()[0].Key
	list := func() []*models.ContextSlot {
		t.Helper()
		return decode[page[*models.ContextSlot]](t, p.must("slot", "list", "--session", k, "--json")).Items
	}
	one := func(args ...string) models.ContextSlot {
		t.Helper()
		return decode[models.ContextSlot](t, p.must(append(append([]string{"slot"}, args...), "--session", k, "--json")...))
	}
	if made := one("create", "draft"); made.Mode != models.SlotFull || made.MessageCount != 0 {
		t.Errorf("created %+v", made)
	}
	if made := one("create", "few", "--recent", "3", "--summary", "so far"); made.Mode != models.SlotFocused || made.Focused.RecentMessages != 3 || made.Focused.SummaryOverride != "so far" {
		t.Errorf("created %+v", made)
	}
	if made := one("derive", "copy", "--from", "default"); made.MessageCount != 2 || made.Source != (models.SlotSource{Kind: models.SlotDerived, ParentID: "default", Strategy: models.DeriveFull}) {
		t.Errorf("derived %+v", made)
	}
	if made := one("derive", "last", "--from", "default", "--strategy", "focused", "--recent", "1"); made.MessageCount != 1 {
		t.Errorf("derived %+v", made)
	}
	if made := one("derive", "rules", "--from", "handbook"); made.MessageCount != 1 {
		t.Errorf("derived %+v", made)
	}
	if made := one("switch", "copy"); !made.Current {
		t.Errorf("switched to %+v", made)
	}
	p.ask("two").wants(t, exitDone, "two\n", "")
	p.ask("--slot", "draft", "three").wants(t, exitDone, "three\n", "")
	p.ask("--slot", "handbook", "four").wants(t, exitFailed, "", "the slot cannot take it")
	p.ask("--slot", "nowhere", "five").wants(t, exitFailed, "", "the slot cannot take it")
	var got []string
	for _, s := range list() {
		got = append(got, s.ID+":"+strings.Repeat("x", s.MessageCount))
	}
	if want := "default:xx draft:xx few: copy:xxxx last:x rules:x handbook:x"; strings.Join(got, " ") != want {
		t.Errorf("slots %v, want %s", got, want)
	}

	drop := func(args ...string) gateway.Change {
		t.Helper()
		return decode[gateway.Change](t, p.must(append([]string{"slot", "delete", "copy", "--session", k, "--json"}, args...)...))
	}
	if c := drop("--dry-run"); c != (gateway.Change{Changed: 5, DryRun: true}) || len(list()) != 7 {
		t.Errorf("dry run %+v", c)
	}
	if c := drop(); c.Changed != 5 || !list()[0].Current {
		t.Errorf("deleted %+v", c)
	}
	if text := p.must("slot", "list", "--session", k); !strings.HasPrefix(text, "SLOT") || !strings.Contains(text, "\nhandbook") {
		t.Error(text)
	}
	for _, c := range []struct {
		code int
		args string
		says string
	}{
		{exitFailed, "create draft", "choose another name"},
		{exitFailed, "create handbook", "choose another name"},
		{exitUsage, "create a/b", "a slot's id must have"},
		{exitUsage, "derive x", "--from PARENT"},
		{exitUsage, "derive x --from default --strategy half", "strategy must be"},
		{exitFailed, "derive x --from nowhere", "slot list"},
		{exitFailed, "switch nowhere", "slot list"},
		{exitFailed, "switch handbook", "derive a slot"},
		{exitFailed, "delete default", "the default slot stays"},
	} {
		got := p.command("", append(append([]string{"slot"}, strings.Fields(c.args)...), "--session", k)...)
		got.wants(t, c.code, "", c.says)
		for _, internal := range []string{"change session", "store:", "slot: "} {
			if strings.Contains(got.err, internal) {
				t.Errorf("slot %s says %q", c.args, got.err)
			}
		}
	}
	p.command("", "slot", "list").wants(t, exitUsage, "", "--session KEY")
	p.command("", "slot", "list", "--session", aKey).wants(t, exitFailed, "", "there is no session")
}
