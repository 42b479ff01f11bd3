package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/agents/agenttest"
)

// The conversation that the documents show in every channel: a tool, and one whose call
// waits for approval.
const asked = "Add 2 and 3, then post the sum."

func transcriptModel() *agenttest.Server {
	model := agenttest.NewServer(agenttest.ServerOptions{})
	model.Otherwise(func(r *agenttest.ChatRequest) agenttest.Reply {
		switch last := r.Messages[len(r.Messages)-1]; {
		case last.Text() == asked:
			return agenttest.Call(agenttest.ReplyCall{ID: "c1", Name: "web__add", Arguments: `{"a":2,"b":3}`})
		case last.Text() == `{"sum":5}`:
			return agenttest.Call(agenttest.ReplyCall{ID: "c2", Name: "web__echo", Arguments: `{"text":"The sum is 5."}`})
		case strings.HasPrefix(last.Text(), "Not run yet"):
			return agenttest.Say("2 and 3 are 5. Posting it waits for your approval.")
		default:
			return agenttest.Say("Posted: " + last.Text())
		}
	})
	return model
}

func transcriptPlace(t *testing.T) *place {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return newPlace(t, fmt.Sprintf(`timezone: UTC
agents: [{id: assistant, kind: openai, baseUrl: %q, apiKey: k, model: m, tools: [web], approve: [web__echo]}]
mcpServers: [{name: web, command: [%q], env: {%s: "1"}}]
`, transcriptModel().Start(t), self, asToolsEnv))
}

var waits = regexp.MustCompile("/approve ([0-9A-Z]{8})")

// varying is what differs from run to run.
var varying = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(/approve |/deny |"code":")[0-9A-Z]{8}`), "${1}K7QX9M2W"},
	{regexp.MustCompile(`"usage":\{[^}]*\}`), `"usage":{"promptTokens":812,"completionTokens":13}`},
	{regexp.MustCompile(`(\$ chatkeep (?:.*\n)*?.*asked by )\S+`), "${1}lin"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d UTC`), "2026-12-01 09:00 UTC"},
	{regexp.MustCompile(`"expiresAt":"[^"]*"`), `"expiresAt":"2026-12-01T09:00:00Z"`},
	{regexp.MustCompile(`inb_[0-9a-f-]+`), "inb_0198c1"},
	{regexp.MustCompile(`msg_[0-9a-f-]+_\d+`), "msg_5d2e_1764579600000000000"},
}

func steady(transcript string) string {
	for _, v := range varying {
		transcript = v.pattern.ReplaceAllString(transcript, v.with)
	}
	return transcript
}

// A tool turn in each channel, as the documents show it. UPDATE_DOCS=1 writes it there.
func TestToolTranscripts(t *testing.T) {
	transcripts := map[string]string{}
	for _, platform := range []string{"feishu", "dingtalk"} {
		t.Run(platform, func(t *testing.T) { transcripts[platform] = platformTranscript(t, platform) })
	}
	t.Run("api", func(t *testing.T) { transcripts["api"] = apiTranscript(t) })
	t.Run("cli", func(t *testing.T) { transcripts["cli"] = cliTranscript(t) })
	for _, name := range []string{"tools.md", "tools.zh.md"} {
		file := filepath.Join("..", "..", "docs", name)
		document, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := string(document)
		for channel, transcript := range transcripts {
			begins, ends := "<!-- transcript "+channel+" -->\n", "<!-- /transcript -->\n"
			head, rest, ok := strings.Cut(want, begins)
			_, tail, okEnd := strings.Cut(rest, ends)
			if !ok || !okEnd {
				t.Fatalf("%s has no place for the transcript of %s", name, channel)
			}
			want = head + begins + "````text\n" + steady(transcript) + "````\n" + ends + tail
		}
		if want == string(document) {
			continue
		}
		if os.Getenv("UPDATE_DOCS") == "" {
			_, happens, _ := strings.Cut(want, "<!-- transcript ")
			t.Errorf("%s does not show what happens; run this test with UPDATE_DOCS=1. What happens:\n%s", name, happens)
			continue
		}
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// platformTranscript plays at the simulator's prompt.
func platformTranscript(t *testing.T, platform string) string {
	t.Helper()
	in, lines := io.Pipe()
	t.Cleanup(func() { _ = lines.Close() })
	_, out := transcriptPlace(t).simulated(platform, in)
	transcript := ""
	before := len(out.String())
	play := func(line, until string) {
		t.Helper()
		if _, err := fmt.Fprintln(lines, line); err != nil {
			t.Fatal(err)
		}
		out.match(t, regexp.MustCompile(until))
		transcript += "> " + line + "\n"
		transcript += settled(out.String()[before:])
		before = len(out.String())
	}
	play(asked, `(?s)2 and 3 are 5.*/approve .* UTC\.\n`)
	decision := ":press Approve"
	if platform == "dingtalk" {
		decision = waits.FindString(out.String())
	}
	play(decision, `Posted: The sum is 5\.\n`)
	return transcript
}

var speaker = regexp.MustCompile(`(?m)^(?:Bot|Robot) \(`)

// settled leaves out what is there for a moment only, and seen by chance: notes of the
// simulator, and the states of a card before its last.
func settled(shown string) string {
	kept := ""
	for said := range strings.Lines(shown) {
		toast := strings.HasPrefix(said, "  ") && !strings.Contains(said, `"`)
		if !toast {
			kept += said
		}
	}
	begins := append(speaker.FindAllStringIndex(kept, -1), []int{len(kept), len(kept)})
	states := []string{kept[:begins[0][0]]}
	for i := range len(begins) - 1 {
		states = append(states, kept[begins[i][0]:begins[i+1][0]])
	}
	last := ""
	for i, s := range states {
		passing := strings.HasSuffix(s, ": …\n") || strings.Contains(s, "🔧") ||
			i+1 < len(states) && s != "" && strings.HasPrefix(states[i+1], strings.TrimSuffix(s, "\n"))
		if !passing {
			last += s
		}
	}
	return last
}

// apiTranscript asks with a stream, and decides without one.
func apiTranscript(t *testing.T) string {
	t.Helper()
	_, url := transcriptPlace(t).serve()
	transcript := ""
	post := func(body string) string {
		t.Helper()
		res, err := http.Post(url+"/v1/chat", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s %v: %s", res.Status, err, answer)
		}
		transcript += "POST /v1/chat " + body + "\n" + joinedDeltas(string(answer)) + "\n"
		return string(answer)
	}
	code := waits.FindStringSubmatch(post(`{"userId":"lin","text":"` + asked + `","stream":true}`))
	if code == nil {
		t.Fatalf("nobody is asked: %s", transcript)
	}
	post(`{"userId":"lin","text":"` + code[0] + `"}`)
	return transcript
}

var deltas = regexp.MustCompile(`(?:event: delta\ndata: \{"text":"(?:[^"\\]|\\.)*"\}\n\n)+`)

// joinedDeltas makes one delta of those that follow each other: how they are cut is chance.
func joinedDeltas(stream string) string {
	text := regexp.MustCompile(`"text":"((?:[^"\\]|\\.)*)"`)
	stream = deltas.ReplaceAllStringFunc(stream, func(run string) string {
		whole := ""
		for _, piece := range text.FindAllStringSubmatch(run, -1) {
			whole += piece[1]
		}
		return "event: delta\ndata: {\"text\":\"" + whole + "\"}\n\n"
	})
	return strings.TrimRight(stream, "\n") + "\n"
}

func cliTranscript(t *testing.T) string {
	t.Helper()
	p := transcriptPlace(t)
	transcript := ""
	ask := func(prompt string) {
		t.Helper()
		s := p.start(nil, "run", prompt)
		if code := s.wait(); code != exitDone {
			t.Fatalf("exit %d: %s", code, s.err.String())
		}
		var shown bytes.Buffer
		fmt.Fprintf(&shown, "$ chatkeep run %q\n%s%s", prompt, s.out.String(), s.err.String())
		transcript += shown.String()
	}
	ask(asked)
	ask(waits.FindString(transcript))
	return transcript
}
