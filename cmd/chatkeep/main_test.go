package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/agents/mcp/mcptest"
)

// asProgramEnv makes the test binary the program itself: real processes, and
// under the race detector when the tests are.
const asProgramEnv = "CHATKEEP_TEST_AS_PROGRAM"

// asToolsEnv makes it a server of tools on its standard input and output.
const asToolsEnv = "CHATKEEP_TEST_AS_TOOLS"

// patience bounds every wait.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv(asProgramEnv) != "" {
		main()
	}
	if os.Getenv(asToolsEnv) != "" {
		_ = (&mcptest.Server{}).Stdio(context.Background())
		return
	}
	goleak.VerifyTestMain(m)
}

// place is a configuration with a database of its own, and a working directory.
type place struct {
	t       *testing.T
	dir     string
	config  string
	workdir string
}

// newPlace writes a configuration file of the default storage and what more says.
func newPlace(t *testing.T, more string) *place {
	t.Helper()
	p := &place{t: t, dir: t.TempDir(), workdir: t.TempDir()}
	p.config = filepath.Join(p.dir, "chatkeep.yaml")
	text := fmt.Sprintf("storage: {driver: sqlite, dsn: %q, lease: 1s}\n%s", filepath.Join(p.dir, "data", "chatkeep.db"), more)
	if err := os.WriteFile(p.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// withModel is newPlace with an agent that asks the server.
func withModel(t *testing.T, s *agenttest.Server) *place {
	t.Helper()
	return newPlace(t, fmt.Sprintf("agents: [{id: assistant, kind: openai, baseUrl: %q, apiKey: k, model: m}]\n", s.Start(t)))
}

// result is what a run of the program left.
type result struct {
	code     int
	out, err string
}

// command runs the program in this process.
func (p *place) command(in string, args ...string) result {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	var out, errOut bytes.Buffer
	code := run(ctx, append([]string{"--config", p.config}, args...), strings.NewReader(in), &out, &errOut)
	return result{code, out.String(), errOut.String()}
}

// ask runs one turn in the place's directory.
func (p *place) ask(args ...string) result {
	p.t.Helper()
	return p.command("", append([]string{"run", "--workdir", p.workdir}, args...)...)
}

// must is the output of a command that has to succeed, silently.
func (p *place) must(args ...string) string {
	p.t.Helper()
	r := p.command("", args...)
	if r.code != exitDone || r.err != "" {
		p.t.Fatalf("chatkeep %s: exit %d, stderr %q", strings.Join(args, " "), r.code, r.err)
	}
	return r.out
}

// wants checks exit code, output and stderr exactly; stderr is only looked into.
func (r result) wants(t *testing.T, code int, out, errPart string) {
	t.Helper()
	if r.code != code || r.out != out || !strings.Contains(r.err, errPart) || errPart == "" && r.err != "" {
		t.Errorf("exit %d, out %q, err %q; want %d, %q, %q", r.code, r.out, r.err, code, out, errPart)
	}
	if n := strings.Count(r.err, "\n"); n > 1 {
		t.Errorf("stderr has %d lines: %q", n, r.err)
	}
}

// decode reads one JSON document.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if d.More() {
		t.Fatalf("%q holds more than one document", text)
	}
	return v
}

// buffer may be written by one goroutine and watched by another.
type buffer struct {
	mu     sync.Mutex
	b      bytes.Buffer
	writes int
	wrote  chan struct{}
}

func newBuffer() *buffer { return &buffer{wrote: make(chan struct{}, 1)} }

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes++
	select {
	case b.wrote <- struct{}{}:
	default:
	}
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// await waits until the buffer holds part.
func (b *buffer) await(t *testing.T, part string) {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for !strings.Contains(b.String(), part) {
		select {
		case <-b.wrote:
		case <-timeout.C:
			t.Fatalf("%q did not come; there is %q", part, b.String())
		}
	}
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-timeout.C:
			t.Fatalf("%s did not come", what)
		}
	}
}

func TestUsage(t *testing.T) {
	p := newPlace(t, "")
	for _, args := range [][]string{
		{"run"}, {"run", "a", "b"}, {"run", " "}, {"run", "--bogus", "x"}, {"run", "--slot", "a b", "x"},
		{"run", "--session", strings.Repeat("n", 300), "x"}, {"chat", "x"}, {"bogus"}, {"session", "bogus"},
		{"session", "show"}, {"session", "show", "key"}, {"session", "delete", "agent:a:channel:cli"},
		{"session", "list", "--limit", "0"}, {"session", "list", "--limit", "x"}, {"session", "list", "--state", "gone"},
		{"session", "list", "--scope", "all"}, {"session", "history", aKey, "--before", "-1"},
		{"session", "export", aKey, "--format", "pdf"}, {"session", "export", aKey, "--format", "html", "--json"},
		{"session", "restore", "--reset", "first", aKey}, {"session", "move", "--from", aKey}, {"session", "move", "--from", aKey, "--to", aKey}, {"session", "move", "--from", aKey, "--to", "x"}, {"migrate", "down"}, {"completion", "tcsh"}, {"health", "--url", "localhost"},
	} {
		r := p.command("", args...)
		if r.code != exitUsage || r.out != "" || strings.Count(r.err, "\n") != 1 || !strings.HasPrefix(r.err, "chatkeep: ") {
			t.Errorf("%v: exit %d, out %q, err %q", args, r.code, r.out, r.err)
		}
	}
	if r := p.command(" \n", "run", "-"); r.code != exitUsage {
		t.Errorf("empty standard input: exit %d", r.code)
	}
}

const aKey = "agent:assistant:channel:cli:scope:per_channel_peer:0123456789ab/default"

func TestBrokenConfigurationIsOneLine(t *testing.T) {
	p := newPlace(t, "servr: 1\nlog: {level: loud}\n")
	for _, args := range [][]string{
		{"run", "x"}, {"chat"}, {"serve"}, {"session", "list"}, {"migrate", "up"}, {"config", "print"}, {"doctor"}, {"health"},
	} {
		r := p.command("", args...)
		if r.code != exitFailed || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, "servr") || !strings.Contains(r.err, "log.level") {
			t.Errorf("%v: exit %d, err %q", args, r.code, r.err)
		}
	}
}
