package gateway_test

import (
	"context"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/wordlist"
	"github.com/chatkeep/chatkeep/models"
)

func TestWords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.settings.Words.In = wordlist.New(wordlist.Rule{Words: []string{"敏感词"}}, wordlist.Rule{Words: []string{"bomb"}, Refuse: true})
	r.settings.Words.Out = wordlist.New(wordlist.Rule{Words: []string{"secret plan"}}, wordlist.Rule{Words: []string{"poison"}, Refuse: true})
	r.start()
	masked := said("m1", "ann", "这是敏 感词和敏感词")
	masked.Raw, masked.Quote = []byte(`{"text":"敏感词"}`), &adapters.Quote{Text: "引用敏感词"}
	r.say(masked)
	in := r.ends("m1", models.InboundDone)
	equal(t, "asked", r.mind.asked(), "这是敏 感词和＊＊＊")
	if strings.Contains(string(in.Payload), "敏感词") || strings.Contains(r.heard(0), "敏感词") || strings.Contains(strings.Join(r.history("m1"), ""), "敏感词") {
		t.Error("the word is kept")
	}
	r.say(said("m2", "ann", "a ＢＯＭＢ"))
	if in := r.ends("m2", models.InboundIgnored); in.Code != models.CodeForbidden || strings.Contains(string(in.Payload), "ＢＯＭＢ") {
		t.Errorf("code %s, kept %s", in.Code, in.Payload)
	}
	r.say(overheard("m3", "ann", "a bomb among us, and 敏感词"))
	r.ends("m3", models.InboundIgnored)
	r.say(said("m4", "ann", "/remember the bomb"))
	r.ends("m4", models.InboundIgnored)
	r.mind.does(func(context.Context, *agents.Request) (*agents.Response, error) { return answer("it is poison"), nil })
	r.say(said("m5", "ann", "what is it?"))
	if in := r.ends("m5", models.InboundFailed); in.Code != models.CodeForbidden {
		t.Errorf("code %s", in.Code)
	}
	r.until("all is said", func() bool { return r.lines("Your message holds a word") == 2 && r.lines("My answer held a word") == 1 })
	if history := strings.Join(r.history("m1"), "\n"); strings.Contains(history, "poison") || strings.Contains(history, "what is it?") {
		t.Errorf("history: %s", history)
	}
	// Lists are read anew: what is not on them any more passes.
	r.settings.Words.In = nil
	r.gateway.Reload(r.settings)
	r.mind.does(nil)
	r.say(said("m6", "ann", "敏感词"))
	r.ends("m6", models.InboundDone)
	if asked := r.mind.asked(); asked[len(asked)-1] != "敏感词" {
		t.Errorf("asked %q", asked)
	}
}

// No piece of a stream card shows what the answer may not.
func TestWordsOfStreamedAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.settings.Words.Out = wordlist.New(wordlist.Rule{Words: []string{"secret plan"}})
	streaming := &streams{pieces: []string{"the sec", "ret ", "pl", "an is secret, pl", "ease"}, step: make(chan struct{})}
	agent := r.settings.Agents["assistant"]
	agent.Agent = streaming
	r.settings.Agents["assistant"] = agent
	r.start()
	r.say(said("m1", "ann", "tell me"))
	for i := range streaming.pieces {
		if i == 1 { // what cannot become a word is shown at once
			r.until("the card shows the beginning", func() bool { return r.platform.shows("the ") })
		}
		streaming.step <- struct{}{}
	}
	r.ends("m1", models.InboundDone)
	equal(t, "screen", r.delivered(), "the ＊＊＊＊＊＊＊＊＊＊＊ is secret, please")
	for _, part := range []string{"secret plan", "the s"} {
		if r.platform.shows(part) {
			t.Errorf("the card showed %q", part)
		}
	}
}

// streams answers piece by piece, one for each step.
type streams struct {
	pieces []string
	step   chan struct{}
}

func (s *streams) Respond(ctx context.Context, _ *agents.Request, emit func(agents.Event)) (*agents.Response, error) {
	for _, piece := range s.pieces {
		select {
		case <-s.step:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		emit(agents.Event{Delta: piece})
	}
	return answer(strings.Join(s.pieces, "")), nil
}

// shows reports whether a card has shown a text on the way to its answer.
func (p *platform) shows(part string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range p.updates {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
