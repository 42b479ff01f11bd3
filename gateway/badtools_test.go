package gateway_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
)

// obeys makes the model call the tool that a person names, with the arguments behind it.
func (r *toolRig) obeys() {
	r.provider.Otherwise(func(req *agenttest.ChatRequest) agenttest.Reply {
		if last := req.Messages[len(req.Messages)-1]; last.Role == "user" {
			empty := ""
			name, args, _ := strings.Cut(last.Text(), " ")
			return agenttest.Reply{Reasoning: &empty, ToolCalls: []agenttest.ReplyCall{{ID: "call_0", Name: name, Arguments: args}}}
		}
		return agenttest.Say(toolSaid + req.Last("tool").Text())
	})
}

const toolSaid = "the tool said: "

// A tool that misbehaves costs its call at most the time it has, and nothing else: the
// turn is answered, the session goes on, the result is kept within bounds. Both kinds of
// servers and tools of our own are tried, all at once.
func TestMisbehavingToolsCostTheirDeadline(t *testing.T) {
	const toolTime = 3 * time.Second // 5 MB take their time on a busy machine
	r := newToolRig(t, 100_000, toolTime,
		function{"panic", func() agents.ToolResult { panic("on purpose") }},
		function{"invalid", func() agents.ToolResult { return agents.ToolResult{Text: "a\xff\x00b"} }},
		function{"own_flood", func() agents.ToolResult { return agents.ToolResult{Text: strings.Repeat("x", 5_000_000)} }},
	)
	r.obeys()
	assistant := r.settings.Agents["assistant"]
	assistant.Tools = append(assistant.Tools.(both), r.local)
	r.settings.Agents["assistant"] = assistant
	r.start()
	for _, warm := range []string{"web", "local"} {
		r.say(whisper("warm-"+warm, "warm", warm+`__echo {"text":"warm"}`))
		r.ends("warm-"+warm, models.InboundDone)
	}
	cases := []struct{ text, want string }{
		{"own_flood {}", "the result had 5000000 bytes"},
		{"panic {}", "internal error"},
		{"invalid {}", "a\uFFFD\uFFFDb"},
		{"nothing {}", "there is no tool"},
	}
	for _, server := range []string{"web__", "local__"} {
		for _, c := range []struct{ text, want string }{
			{"hang {}", "did not answer within"},
			{"deaf {}", "did not answer within"},
			{"flood {\"bytes\":5000000}", "the result had 5000000 bytes"},
			{"echo {\"text\":\"a" + garbled + "\\u0000b\"}", "a\uFFFD"},
			{"fail {\"text\":\"so\"}", "Error: it went wrong: so"},
			{"echo {\"text\":7}", "do not fit the tool's schema"},
			{"echo {\"text\":", "not valid JSON"},
		} {
			cases = append(cases, struct{ text, want string }{server + c.text, c.want})
		}
	}
	began := clock.Real().Now()
	for i, c := range cases {
		r.say(whisper(fmt.Sprintf("m%d", i), fmt.Sprintf("user-%d", i), c.text))
	}
	for i, c := range cases {
		in := r.ends(fmt.Sprintf("m%d", i), models.InboundDone)
		if strings.Contains(c.text, "__flood") && strings.Contains(in.Reply.Content, "did not answer within") {
			continue // on a busy machine this takes longer than the call may last
		}
		if got, ok := strings.CutPrefix(in.Reply.Content, toolSaid); !ok || !strings.Contains(got, c.want) || len(got) > 4000 {
			t.Errorf("%s: the model said %.200q, want %q", c.text, in.Reply.Content, c.want)
		}
	}
	if took := clock.Real().Now().Sub(began); took > 10*toolTime {
		t.Errorf("all of them took %s", took)
	}
	for i := range cases { // their sessions go on
		id := fmt.Sprintf("again-%d", i)
		r.say(whisper(id, fmt.Sprintf("user-%d", i), `web__add {"a":1,"b":2}`))
		if in := r.ends(id, models.InboundDone); !strings.Contains(in.Reply.Content, `{"sum":3}`) {
			t.Errorf("after %s: the model said %.200q", cases[i].text, in.Reply.Content)
		}
	}
	r.noRejections()
}

// A server that dies takes its calls with it, and comes back.
func TestServersOfToolsComeBack(t *testing.T) {
	r := newToolRig(t, 100_000, 20*time.Second)
	r.obeys()
	assistant := r.settings.Agents["assistant"]
	assistant.Tools = append(assistant.Tools.(both), r.local)
	r.settings.Agents["assistant"] = assistant
	r.start()
	back := func(name, server string) {
		t.Helper()
		n := 0
		r.until("the server is back", func() bool {
			n++
			id := fmt.Sprintf("%s-again-%d", name, n)
			r.say(whisper(id, "ann", server+`__echo {"text":"back"}`))
			return strings.Contains(r.ends(id, models.InboundDone).Reply.Content, toolSaid+"back")
		})
	}
	back("begin", "local")
	for _, death := range []string{"local__die {}", "local__panic {}"} {
		r.say(whisper(death, "ann", death))
		if in := r.ends(death, models.InboundDone); !strings.Contains(in.Reply.Content, "cannot be reached") {
			t.Errorf("%s: the model said %.200q", death, in.Reply.Content)
		}
		back(death, "local")
	}
	back("begin-web", "web")
	r.say(whisper("cut", "ann", "web__hang {}"))
	r.until("the tool is called", func() bool {
		requests := r.provider.Requests()
		return strings.Contains(requests[len(requests)-1].Last("user").Text(), "hang")
	})
	r.until("the call is cut off", func() bool { // once it is on its way
		r.web.CloseClientConnections()
		return r.inbound("cut").State.Final()
	})
	if in := r.ends("cut", models.InboundDone); !strings.Contains(in.Reply.Content, "cannot be reached") {
		t.Errorf("cut off: the model said %.200q", in.Reply.Content)
	}
	back("cut", "web")
	r.noRejections()
}
