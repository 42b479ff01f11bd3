package main

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/gateway/httpapi"
)

func TestChat(t *testing.T) {
	model := agenttest.NewServer(agenttest.ServerOptions{})
	p := withModel(t, model)
	p.command("one\n\n/new side\ntwo", "chat", "--workdir", p.workdir).wants(t, exitDone,
		"one\nStarted a new context: side. The old one stays.\ntwo\n", "")
	r := p.command("three\nfour\n", "chat", "--json", "--workdir", p.workdir)
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if r.code != exitDone || len(lines) != 2 || decode[httpapi.ChatBody](t, lines[1]).Reply.Content != "four" {
		t.Errorf("exit %d: %q", r.code, r.out)
	}
	if got := userTexts(model.Requests()[3]); got != "two|three|four" {
		t.Errorf("the model saw %q", got)
	}
	p.ask("five").wants(t, exitDone, "five\n", "")
	if got := userTexts(model.Requests()[4]); got != "two|three|four|five" {
		t.Errorf("run is another session than chat: the model saw %q", got)
	}
}

func TestChatTellsWhatFailed(t *testing.T) {
	model := agenttest.NewServer(agenttest.ServerOptions{})
	model.Script(agenttest.Fail(http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided."))
	p := withModel(t, model)
	r := p.command("one\ntwo\n", "chat", "--workdir", p.workdir)
	if r.code != exitFailed || r.out != "two\n" || !strings.Contains(r.err, "chatkeep doctor") || !strings.Contains(r.err, "1 of 2 messages") {
		t.Errorf("exit %d: %q, %q", r.code, r.out, r.err)
	}
}

// Ctrl-C stops the running turn and leaves the conversation, Ctrl-D ends it.
func TestChatInterrupted(t *testing.T) {
	model := agenttest.NewServer(agenttest.ServerOptions{})
	model.Script(agenttest.Reply{Text: "never", Delay: patience})
	p := withModel(t, model)
	chat := p.start(nil, "chat", "--workdir", p.workdir)
	chat.write("one\n")
	waitFor(t, "the model's request", func() bool { return len(model.Requests()) == 1 })
	chat.signal(os.Interrupt)
	chat.err.await(t, "interrupted at the terminal")
	chat.signal(os.Interrupt)
	chat.err.await(t, "Ctrl-D ends the chat")
	chat.write("two\n")
	chat.out.await(t, "two\n")
	chat.eof()
	if code := chat.wait(); code != exitFailed { // a script's line was not answered
		t.Errorf("exit %d", code)
	}
	if got := userTexts(model.Requests()[1]); got != "two" {
		t.Errorf("the model saw %q", got)
	}
}

func TestChatEndsOnTerm(t *testing.T) {
	p := newPlace(t, "")
	chat := p.start(nil, "chat", "--workdir", p.workdir)
	chat.write("one\n")
	chat.out.await(t, "one\n")
	chat.signal(syscall.SIGTERM)
	if code := chat.wait(); code != exitDone {
		t.Errorf("exit %d: %s", code, chat.err.String())
	}
}
