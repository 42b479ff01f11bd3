package httpapi_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/sessionmgr/transfer"
)

// TestNothingCrossesSessions plants a text of its own in every kind of memory of
// many sessions and looks for it in everything that the others show.
func TestNothingCrossesSessions(t *testing.T) {
	w := newWorld(t, options{settings: func(s *gateway.Settings) {
		a := s.Agents["model"]
		a.SystemPrompt = "You know {{var.secret}}."
		s.Agents["model"] = a
	}})
	const sessions = 20
	// A user in direct chats, groups, threads and the narrower scope: as alike as ids can be.
	who := func(i int) obj {
		body := obj{"userId": fmt.Sprintf("u%d", i%10)}
		switch i % 4 {
		case 1:
			body["chatId"] = fmt.Sprintf("u%d", i)
		case 2:
			body["chatId"], body["threadId"] = fmt.Sprintf("u%d", i%10), fmt.Sprintf("t%d", i)
		case 3:
			body["scope"], body["scopeId"] = "per_account_channel_peer", fmt.Sprintf("u%d", i)
		default:
			body["userId"] = fmt.Sprintf("u%d", i)
		}
		return body
	}
	canary := func(i int, kind string) string { return fmt.Sprintf("canary<%d>%s", i, kind) }
	say := func(i int, text, slotID string) *answer {
		body := who(i)
		body["text"] = text
		if slotID != "" {
			body["slot"] = slotID
		}
		return w.work(body).ok()
	}
	keys, paths := make([]string, sessions), make([]string, sessions)
	for i := range sessions {
		keys[i] = say(i, canary(i, "message"), "").str("sessionKey")
		paths[i] = session(keys[i])
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(keys))); len(unique) != sessions {
		t.Fatalf("%d sessions, want %d", len(unique), sessions)
	}
	for i, path := range paths {
		w.admin(http.MethodPost, path+"/slots/default/derive", obj{"id": "side"}).want(http.StatusCreated, "")
		w.admin(http.MethodPost, path+"/slots", obj{"id": "focus", "focused": obj{"recentMessages": 5, "summaryOverride": canary(i, "summary")}}).want(http.StatusCreated, "")
		say(i, canary(i, "side"), "side")
		say(i, canary(i, "focus"), "focus")
		w.admin(http.MethodPost, path+"/slots/side/merge", obj{"into": "focus", "strategy": "messages"}).ok()
		w.admin(http.MethodPost, path+"/memory", obj{"key": "k", "value": canary(i, "note")}).want(http.StatusCreated, "")
		say(i, "/remember k2="+canary(i, "remembered"), "")
		w.admin(http.MethodPut, path+"/variables/secret", obj{"value": canary(i, "variable")}).ok()
		w.admin(http.MethodPut, path+"/files/PLAN.md", canary(i, "plan")).ok()
		w.admin(http.MethodPut, path+"/files/TODO.md", canary(i, "todo")).ok()
	}
	for i := range sessions {
		say(i, "last", "")
	}

	own := func(where, text string, i int) {
		t.Helper()
		mine := fmt.Sprintf("canary<%d>", i)
		if !strings.Contains(text, mine) {
			t.Errorf("session %d: %s lost its own", i, where)
		}
		if rest := strings.ReplaceAll(text, mine, ""); strings.Contains(rest, "canary<") {
			t.Errorf("session %d: %s holds another's: %s", i, where, rest)
		}
	}
	for i, path := range paths {
		for _, p := range []string{
			"/messages", "/messages?slot=side", "/messages?slot=focus", "/slots", "/context", "/context?slot=side", "/context?slot=focus",
			"/variables", "/variables/secret", "/memory", "/files/PLAN.md", "/files/TODO.md",
		} {
			body := w.admin(http.MethodGet, path+p, nil).ok().body
			own(p, strings.ReplaceAll(strings.ReplaceAll(string(body), `\u003c`, "<"), `\u003e`, ">"), i)
		}
		for _, slotID := range []string{"default", "side", "focus"} {
			own("context of "+slotID, strings.Join(w.shows(path, slotID), "\n"), i)
		}
		var exported bytes.Buffer
		if err := transfer.Export(t.Context(), transfer.From(w.store), keys[i], transfer.Options{Format: transfer.Markdown}, &exported); err != nil {
			t.Fatal(err)
		}
		own("export", strings.NewReplacer(`\<`, "<", "&lt;", "<", `\>`, ">", "&gt;", ">").Replace(exported.String()), i)
	}
	prompts := 0
	for _, request := range w.model.Requests() {
		var sent strings.Builder
		for _, m := range request.Messages {
			fmt.Fprintf(&sent, "%s\n", m.Content)
		}
		text := strings.ReplaceAll(strings.ReplaceAll(sent.String(), `\u003c`, "<"), `\u003e`, ">")
		first := strings.Index(text, "canary<")
		if first < 0 {
			t.Fatalf("a prompt without any: %s", text)
		}
		var i int
		if _, err := fmt.Sscanf(text[first:], "canary<%d>", &i); err != nil {
			t.Fatal(err)
		}
		own("prompt", text, i)
		prompts++
	}
	if prompts != 4*sessions {
		t.Errorf("%d prompts, want %d", prompts, 4*sessions)
	}

	// A deleted session takes all of it along.
	w.admin(http.MethodDelete, paths[0], nil).ok()
	again := say(0, "who am I?", "").session()
	for _, p := range []string{"/messages", "/context", "/slots", "/variables", "/memory", "/files/PLAN.md"} {
		if body := w.admin(http.MethodGet, again+p, nil).ok().body; bytes.Contains(body, []byte("canary")) {
			t.Errorf("%s after a delete: %s", p, body)
		}
	}
}
