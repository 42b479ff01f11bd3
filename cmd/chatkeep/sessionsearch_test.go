package main

import (
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/models"
)

func TestSessionHistorySearch(t *testing.T) {
	p := newPlace(t, "")
	for _, text := range []string{"明天部署到 Staging", "二", "部署完成"} {
		p.ask(text)
	}
	p.ask("/new side")
	p.ask("部署在别的上下文")
	p.ask("--session", "other", "部署别处")
	var k string
	for _, s := range p.sessions() {
		if strings.HasSuffix(s.Key, "/default") {
			k = s.Key
		}
	}
	search := func(args ...string) page[*models.SessionMessage] {
		return decode[page[*models.SessionMessage]](t, p.must(append([]string{"session", "history", k, "--json", "--search"}, args...)...))
	}
	for query, want := range map[string]string{
		"部署":         "部署在别的上下文|部署在别的上下文|部署完成|部署完成|明天部署到 Staging|明天部署到 Staging",
		"STAGING 部署": "明天部署到 Staging|明天部署到 Staging", "别处": "", "%": "",
	} {
		if got := search(query); strings.Join(contents(got.Items), "|") != want || got.NextCursor != "" {
			t.Errorf("%s: %q, cursor %q", query, contents(got.Items), got.NextCursor)
		}
	}
	if got := search("部署", "--slot", "default", "--limit", "3"); len(got.Items) != 3 || got.NextCursor == "" {
		t.Errorf("%d found, cursor %q", len(got.Items), got.NextCursor)
	} else if rest := search("部署", "--slot", "default", "--cursor", got.NextCursor); len(rest.Items) != 1 || rest.NextCursor != "" {
		t.Errorf("%d more, cursor %q", len(rest.Items), rest.NextCursor)
	}
	r := p.command("", "session", "history", k, "--search", "完成", "--limit", "1")
	if r.code != exitDone || !strings.HasPrefix(r.out, "[default 6] ") || !strings.HasSuffix(r.out, " assistant: 部署完成\n") || !strings.HasPrefix(r.err, "more: --cursor ") {
		t.Errorf("exit %d: %q, %q", r.code, r.out, r.err)
	}
	for _, args := range [][]string{{"--search", ""}, {"--search", "x", "--before", "3"}, {"--cursor", "x"}, {"--search", "x", "--cursor", "y"}} {
		if r := p.command("", append([]string{"session", "history", k}, args...)...); r.code != exitUsage {
			t.Errorf("%v: exit %d, %q", args, r.code, r.err)
		}
	}
	p.command("", "session", "history", k, "--search", "x", "--slot", "gone").wants(t, exitFailed, "", `no slot "gone"`)
	p.command("", "session", "history", k+"x", "--search", "x").wants(t, exitFailed, "", "there is no session")
	// The same by chat command, in the session's own words.
	if got := p.ask("/history 完成").out; strings.Count(got, "`default` ") != 2 || strings.Count(got, ": 部署完成\n") != 2 || strings.Count(got, "\n") != 3 {
		t.Errorf("/history says %q", got)
	}
}
