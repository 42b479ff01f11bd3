package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/internal/testmysql"
	"github.com/chatkeep/chatkeep/models"
)

// process is a run of the program as a process of its own.
type process struct {
	t        *testing.T
	cmd      *exec.Cmd
	in       io.WriteCloser
	out, err *buffer
	once     sync.Once
}

// start starts the program; it is killed at the end of the test if it still runs.
func (p *place) start(env []string, args ...string) *process {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.CommandContext(p.t.Context(), self, append([]string{"--config", p.config}, args...)...)
	cmd.Env = append(append(os.Environ(), asProgramEnv+"=1"), env...)
	cmd.Dir = p.workdir
	s := &process{t: p.t, cmd: cmd, out: newBuffer(), err: newBuffer()}
	cmd.Stdout, cmd.Stderr = s.out, s.err
	if s.in, err = cmd.StdinPipe(); err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		s.wait()
	})
	return s
}

func (s *process) write(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, text); err != nil {
		s.t.Fatal(err)
	}
}

func (s *process) eof() { _ = s.in.Close() }

func (s *process) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// wait returns the exit code.
func (s *process) wait() int {
	s.once.Do(func() { _ = s.cmd.Wait() })
	return s.cmd.ProcessState.ExitCode()
}

var listening = regexp.MustCompile(`msg=listening address=(\S+)`)

// serve starts a server on a free port and returns its URL.
func (p *place) serve(env ...string) (*process, string) {
	p.t.Helper()
	s := p.start(append(env, "CHATKEEP_SERVER_LISTEN=127.0.0.1:0"), "serve")
	s.err.await(p.t, "msg=listening address=")
	waitFor(p.t, "the address", func() bool { return listening.MatchString(s.err.String()) })
	return s, "http://" + listening.FindStringSubmatch(s.err.String())[1]
}

// wholeTurns checks that the history is made of the prompts, each followed by its answer.
func (p *place) wholeTurns(prompts ...string) {
	p.t.Helper()
	var want []string
	for _, prompt := range prompts {
		want = append(want, "user "+prompt, "assistant "+prompt)
	}
	var got []string
	for _, m := range p.history() {
		got = append(got, string(m.Role)+" "+m.Content)
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		p.t.Errorf("history is %q, want %q", got, want)
	}
}

// Two processes of one session take turns, in the order of their acceptance.
func TestTwoProcessesOneSession(t *testing.T) {
	for name, storage := range map[string]func(t *testing.T) []string{
		"sqlite": func(*testing.T) []string { return nil },
		"mysql": func(t *testing.T) []string {
			t.Helper()
			return []string{"CHATKEEP_STORAGE_DRIVER=mysql", "CHATKEEP_STORAGE_DSN=" + testmysql.DSN(t)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			model := agenttest.NewServer(agenttest.ServerOptions{})
			model.Script(agenttest.Reply{Text: "one", Delay: patience / 60})
			p := withModel(t, model)
			env := storage(t)
			for _, e := range env {
				n, v, _ := strings.Cut(e, "=")
				t.Setenv(n, v)
			}
			first := p.start(nil, "run", "one")
			waitFor(t, "the first request", func() bool { return len(model.Requests()) == 1 })
			second := p.start(nil, "run", "two")
			for i, s := range []*process{first, second} {
				if code, want := s.wait(), []string{"one\n", "two\n"}[i]; code != exitDone || s.out.String() != want || s.err.String() != "" {
					t.Errorf("exit %d, out %q, err %q; want %q", code, s.out.String(), s.err.String(), want)
				}
			}
			p.wholeTurns("one", "two")
		})
	}
}

// Many at once: every one is answered, and the history holds whole turns.
func TestManyProcessesOneSession(t *testing.T) {
	p := newPlace(t, "")
	var all []*process
	for i := range 6 {
		all = append(all, p.start(nil, "run", fmt.Sprint("prompt ", i)))
	}
	for i, s := range all {
		if code := s.wait(); code != exitDone || s.out.String() != fmt.Sprintf("prompt %d\n", i) {
			t.Errorf("exit %d, out %q, err %q", code, s.out.String(), s.err.String())
		}
	}
	history := p.history()
	if len(history) != 12 {
		t.Fatalf("%d messages", len(history))
	}
	for i := 0; i < len(history); i += 2 {
		if history[i].Role != models.RoleUser || history[i+1].Role != models.RoleAssistant || history[i].Content != history[i+1].Content {
			t.Errorf("turn %d is %q, %q", i/2, history[i].Content, history[i+1].Content)
		}
	}
}

// Commands work beside a server on the same file: it answers its own clients, and
// takes over what a killed command left behind.
func TestBesideServer(t *testing.T) {
	model := agenttest.NewServer(agenttest.ServerOptions{})
	p := withModel(t, model)
	server, url := p.serve()
	resp, err := http.Post(url+"/v1/chat", "application/json", strings.NewReader(`{"userId":"u","text":"from the web"}`))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "from the web") {
		t.Fatalf("%s: %s", resp.Status, body)
	}
	p.must("health", "--url", url)
	p.command("", "serve").wants(t, exitFailed, "", "stop the other server first")
	p.ask("zero").wants(t, exitDone, "zero\n", "")

	model.Script(agenttest.Reply{Text: "never", Delay: patience})
	killed := p.start(nil, "run", "one")
	waitFor(t, "the killed command's request", func() bool { return len(model.Requests()) == 3 })
	killed.signal(syscall.SIGKILL)
	killed.wait()
	p.command("", "run", "--workdir", p.workdir, "two").wants(t, exitDone, "two\n", "") // behind the dead one's

	server.signal(syscall.SIGTERM)
	if code := server.wait(); code != exitDone {
		t.Errorf("serve: exit %d: %s", code, server.err.String())
	}
	var cli *models.Session
	for _, s := range p.sessions() {
		if s.Channel == channelCLI {
			cli = s
		}
	}
	if cli == nil {
		t.Fatal("no session of the terminal")
	}
	history := decode[page[*models.SessionMessage]](t, p.must("session", "history", "--json", cli.Key)).Items
	if got := strings.Join(contents(history), "|"); got != "zero|zero|one|one|two|two" {
		t.Errorf("history is %q", got)
	}
}
