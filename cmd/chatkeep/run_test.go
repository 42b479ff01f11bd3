package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/gateway/httpapi"
	"github.com/chatkeep/chatkeep/gateway/watch"
	"github.com/chatkeep/chatkeep/models"
)

func TestRun(t *testing.T) {
	p := newPlace(t, "")
	p.ask("hello").wants(t, exitDone, "hello\n", "")
	p.command("from\nstdin\r\n\n", "run", "--workdir", p.workdir, "-").wants(t, exitDone, "from\nstdin\n", "")
	p.ask("--", "-x").wants(t, exitDone, "-x\n", "")
	p.ask("--agent", "nobody", "x").wants(t, exitFailed, "", "use one of: assistant")
	p.ask("--slot", "nowhere", "x").wants(t, exitFailed, "", `no slot "nowhere"; choose another`)
	p.ask("a\x00b").wants(t, exitFailed, "", "NUL")
	p.command("\xff", "run", "-").wants(t, exitFailed, "", "UTF-8")
	p.command("", "run", "--workdir", filepath.Join(p.dir, "absent"), "x").wants(t, exitFailed, "", "--workdir")
	p.command(strings.Repeat("x", 1<<20+1), "run", "--workdir", p.workdir, "-").wants(t, exitFailed, "", "limits.maxInboundBytes")

	if got := contents(p.history()); strings.Join(got, "|") != "hello|hello|from\nstdin|from\nstdin|-x|-x" {
		t.Errorf("history is %q", got)
	}
}

// userTexts are what people said in a request.
func userTexts(r *agenttest.ChatRequest) string {
	var texts []string
	for _, m := range r.Messages {
		if m.Role == string(models.RoleUser) {
			texts = append(texts, m.Text())
		}
	}
	return strings.Join(texts, "|")
}

// history is the newest messages of the place's only session.
func (p *place) history() []*models.SessionMessage {
	p.t.Helper()
	sessions := p.sessions()
	if len(sessions) != 1 {
		p.t.Fatalf("%d sessions", len(sessions))
	}
	return decode[page[*models.SessionMessage]](p.t, p.must("session", "history", "--json", sessions[0].Key)).Items
}

func (p *place) sessions() []*models.Session {
	p.t.Helper()
	return decode[page[*models.Session]](p.t, p.must("session", "list", "--json")).Items
}

func contents(messages []*models.SessionMessage) []string {
	var out []string
	for _, m := range messages {
		out = append(out, m.Content)
	}
	return out
}

func TestRunJSON(t *testing.T) {
	p := newPlace(t, "")
	r := p.ask("--json", "--session", "work", "hello <b>")
	body := decode[httpapi.ChatBody](t, r.out)
	if r.code != exitDone || r.err != "" || body.State != models.InboundDone || body.Reply == nil || body.Reply.Content != "hello <b>" ||
		body.Slot != models.DefaultSlot || body.FinishReason != "stop" || body.InboundID == "" ||
		!strings.HasPrefix(body.SessionKey, "agent:assistant:channel:cli:scope:per_channel_peer:") || !strings.HasSuffix(body.SessionKey, "/work") {
		t.Errorf("exit %d: %q", r.code, r.out)
	}
	if !strings.Contains(r.out, "hello <b>") {
		t.Errorf("text is escaped: %q", r.out)
	}
	r = p.ask("--json", "--slot", "nowhere", "x")
	body = decode[httpapi.ChatBody](t, r.out)
	if r.code != exitFailed || body.State != models.InboundFailed || body.Error == "" || body.Reply != nil || r.err == "" {
		t.Errorf("exit %d: %q, %q", r.code, r.out, r.err)
	}
}

func TestRunStreams(t *testing.T) {
	p := newPlace(t, "agents: [{id: assistant, kind: echo, delay: 20ms, chunkSize: 2}]\n")
	out := newBuffer()
	if code := run(t.Context(), []string{"run", "--config", p.config, "--workdir", p.workdir, "abcdefgh"}, strings.NewReader(""), out, os.Stderr); code != exitDone {
		t.Fatalf("exit %d", code)
	}
	if out.String() != "abcdefgh\n" || out.writes < 4 {
		t.Errorf("%d writes of %q", out.writes, out.String())
	}
}

// A session belongs to a directory, a name, an agent and a namespace.
func TestSessionsDoNotMeet(t *testing.T) {
	model := agenttest.NewServer(agenttest.ServerOptions{})
	p := withModel(t, model)
	other := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(p.workdir, link); err != nil {
		t.Fatal(err)
	}
	p.ask("one").wants(t, exitDone, "one\n", "")
	p.command("", "run", "--workdir", link, "two").wants(t, exitDone, "two\n", "")
	if got := userTexts(model.Requests()[1]); got != "one|two" {
		t.Errorf("through a link the model saw %q", got)
	}
	t.Chdir(p.workdir)
	p.command("", "run", "three").wants(t, exitDone, "three\n", "")
	if got := userTexts(model.Requests()[2]); got != "one|two|three" {
		t.Errorf("in the directory the model saw %q", got)
	}
	p.command("", "run", "--workdir", other, "four").wants(t, exitDone, "four\n", "")
	p.ask("--session", "b", "five").wants(t, exitDone, "five\n", "")
	t.Setenv(namespaceEnv, "host-2:")
	p.ask("six").wants(t, exitDone, "six\n", "")
	for i, want := range []string{"four", "five", "six"} {
		if got := userTexts(model.Requests()[3+i]); got != want {
			t.Errorf("%s: the model saw %q", want, got)
		}
	}
	if n := len(p.sessions()); n != 4 {
		t.Errorf("%d sessions", n)
	}
}

func TestRunCommands(t *testing.T) {
	model := agenttest.NewServer(agenttest.ServerOptions{})
	p := withModel(t, model)
	p.ask("one")
	if r := p.ask("/status"); r.code != exitDone || !strings.Contains(r.out, "Messages in it: 2") {
		t.Errorf("exit %d: %q %q", r.code, r.out, r.err)
	}
	if r := p.ask("/reset"); r.code != exitDone || !strings.Contains(r.out, "empty") {
		t.Errorf("exit %d: %q %q", r.code, r.out, r.err)
	}
	p.ask("two")
	p.ask("/new side")
	p.ask("three")
	p.ask("--slot", "default", "four")
	if r := p.ask("/stop"); r.code != exitDone || r.out == "" {
		t.Errorf("exit %d: %q %q", r.code, r.out, r.err)
	}
	want := []string{"one", "two", "three", "two|four"}
	for i, r := range model.Requests() {
		if got := userTexts(r); got != want[i] {
			t.Errorf("request %d: the model saw %q, want %q", i, got, want[i])
		}
	}
}

func TestRunFails(t *testing.T) {
	model := agenttest.NewServer(agenttest.ServerOptions{})
	model.Script(agenttest.Fail(http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided."))
	p := withModel(t, model)
	p.ask("one").wants(t, exitFailed, "", "chatkeep doctor")
	p.ask("two").wants(t, exitDone, "two\n", "")
	if got := contents(p.history()); strings.Join(got, "|") != "two|two" {
		t.Errorf("history is %q", got)
	}
}

func TestRunWithoutMemory(t *testing.T) {
	p := newPlace(t, "")
	t.Setenv("CHATKEEP_STORAGE_DRIVER", "memory")
	p.ask("one").wants(t, exitDone, "one\n", "nothing of this is remembered")
	p.command("", "session", "list").wants(t, exitFailed, "", "admin API")
	p.command("", "migrate", "up").wants(t, exitFailed, "", "has no schema")
}

// An interrupt takes the message back before the command ends.
func TestRunInterrupted(t *testing.T) {
	model := agenttest.NewServer(agenttest.ServerOptions{})
	model.Script(agenttest.Reply{Text: "never", Delay: patience})
	p := withModel(t, model)
	ctx, interrupt := context.WithCancel(t.Context())
	errOut := newBuffer()
	code := make(chan int)
	go func() {
		code <- run(ctx, []string{"run", "--config", p.config, "--workdir", p.workdir, "x"}, strings.NewReader(""), newBuffer(), errOut)
	}()
	waitFor(t, "the model's request", func() bool { return len(model.Requests()) == 1 })
	interrupt()
	if got := <-code; got != exitFailed || !strings.Contains(errOut.String(), "interrupted at the terminal") {
		t.Errorf("exit %d, %q", got, errOut.String())
	}
	p.ask("after").wants(t, exitDone, "after\n", "")
	if got := userTexts(model.Requests()[1]); got != "after" {
		t.Errorf("the model saw %q", got)
	}
}

func TestPrinter(t *testing.T) {
	done := func(text string) *models.Inbound {
		return &models.Inbound{State: models.InboundDone, Reply: &models.Reply{Content: text}}
	}
	for name, c := range map[string]struct {
		updates []watch.Update
		answer  string
		plain   bool
		want    string
	}{
		"nothing grew":       {nil, "all", false, "all\n"},
		"all grew":           {[]watch.Update{{Delta: "a"}, {Delta: "ll"}}, "all", false, "all\n"},
		"ends with newline":  {nil, "all\n", false, "all\n"},
		"half grew":          {[]watch.Update{{Delta: "a"}}, "all", false, "all\n"},
		"words before tools": {[]watch.Update{{Delta: "Let me see. "}, {Delta: "It is 5."}}, "It is 5.", false, "Let me see. It is 5.\n"},
		"something else":     {[]watch.Update{{Delta: "draft"}}, "final", false, "draft\nfinal\n"},
		"again":              {[]watch.Update{{Delta: "bad"}, {Restart: true}, {Delta: "good"}}, "good", false, "bad\ngood\n"},
		"terminal":           {[]watch.Update{{Delta: "\x1b[2Ja\u009b1m"}}, "\x1b[2Ja\u009b1m", true, "[2Ja1m\n"},
		"pipe":               {nil, "\x1b[1m", false, "\x1b[1m\n"},
	} {
		out := newBuffer()
		p := &printer{out: out, errOut: newBuffer(), plain: c.plain}
		for _, u := range c.updates {
			p.update(u)
		}
		if err := p.finish(done(c.answer)); err != nil || out.String() != c.want {
			t.Errorf("%s: %q, %v; want %q", name, out.String(), err, c.want)
		}
	}
}

func TestOutcomeError(t *testing.T) {
	for _, in := range []models.Inbound{
		{State: models.InboundCancelled}, {State: models.InboundSuperseded}, {State: models.InboundIgnored}, {State: models.InboundDead},
		{State: models.InboundFailed, Code: models.CodeTooLarge}, {State: models.InboundFailed, Code: models.CodeSlotReadonly},
		{State: models.InboundFailed, Code: models.CodeAgentTimeout}, {State: models.InboundFailed, Code: models.CodeAgentFailed},
	} {
		in.Error = "the cause"
		err := outcomeError(&in)
		if err == nil || !strings.Contains(err.Error(), ": the cause; ") {
			t.Errorf("%s %s: %v", in.State, in.Code, err)
		}
	}
	if err := outcomeError(&models.Inbound{State: models.InboundDone}); err != nil {
		t.Error(err)
	}
}
