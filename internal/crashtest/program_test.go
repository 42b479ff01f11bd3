package crashtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/internal/testmysql"
)

// lease is how long lanes and targets of a dead process stay taken in these tests.
const lease = time.Second

// binaryEnv names a built program; without it the tests build one.
const binaryEnv = "CHATKEEP_TEST_BINARY"

// binary is the program under test, built once for all tests.
var binary string

func TestMain(m *testing.M) {
	code, err := withBinary(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func withBinary(run func() int) (int, error) {
	if binary = os.Getenv(binaryEnv); binary != "" {
		return run(), nil
	}
	dir, err := os.MkdirTemp("", "chatkeep-crashtest-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "chatkeep")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", binary, "../../cmd/chatkeep")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build chatkeep: %w\n%s", err, out)
	}
	return run(), nil
}

// backends are the databases that the tests run on; dsn makes an empty one.
var backends = []struct {
	name string
	dsn  func(t *testing.T) string
}{
	{"sqlite", func(t *testing.T) string { return filepath.Join(t.TempDir(), "chatkeep.db") }},
	{"file", func(t *testing.T) string { return filepath.Join(t.TempDir(), "data") }},
	{"mysql", func(t *testing.T) string { return testmysql.DSN(t) }},
}

// setup is what a program's configuration says; it is written as JSON, which is YAML.
type setup struct {
	driver, dsn string
	agentURL    string // empty: the echo agent
	grace       string // empty: 5s
	lease       time.Duration
	queue       string // empty: followup
	session     map[string]any
	channels    map[string][]any
}

// program is one replica: its configuration and, while it runs, its process.
type program struct {
	t      *testing.T
	config string
	url    string

	mu      sync.Mutex
	cmd     *exec.Cmd
	exited  chan struct{} // closed when the process has ended
	readyAt time.Time
	log     bytes.Buffer
}

func newProgram(t *testing.T, s setup) *program {
	t.Helper()
	address := freeAddress(t)
	agent := map[string]any{"id": "assistant", "kind": "echo"}
	if s.agentURL != "" {
		agent = map[string]any{"id": "assistant", "kind": "webhook", "url": s.agentURL, "secret": "shared", "timeout": "60s"}
	}
	if s.grace == "" {
		s.grace = "5s"
	}
	if s.queue == "" {
		s.queue = "followup"
	}
	session := map[string]any{"queue": map[string]any{"mode": s.queue, "debounce": "0s", "cap": 0}}
	maps.Copy(session, s.session)
	channels := map[string][]any{"api": {map[string]any{"account": "default", "agent": "assistant"}}}
	maps.Copy(channels, s.channels)
	text, err := json.Marshal(map[string]any{
		"server":   map[string]any{"listen": address, "shutdownGrace": s.grace},
		"storage":  map[string]any{"driver": s.driver, "dsn": s.dsn, "lease": cmp.Or(s.lease, lease).String()},
		"agents":   []any{agent},
		"channels": channels,
		"session":  session,
		"log":      map[string]any{"level": "warn"},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, config: filepath.Join(t.TempDir(), "config.json"), url: "http://" + address}
	if err := os.WriteFile(p.config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			p.mu.Lock()
			defer p.mu.Unlock()
			t.Logf("log of %s:\n%s", p.url, p.log.String())
		}
	})
	return p
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start starts the program and waits until it serves; it may have killed itself by
// then if env says where.
func (p *program) start(env ...string) {
	p.t.Helper()
	cmd := exec.Command(binary, "--config", p.config, "serve")
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = (*logWriter)(p)
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	exited := make(chan struct{})
	p.mu.Lock()
	p.cmd, p.exited = cmd, exited
	p.mu.Unlock()
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	until(p.t, "the program is ready", 30*time.Second, func() bool {
		select {
		case <-exited:
			return true
		default:
		}
		resp, err := http.Get(p.url + "/readyz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	p.readyAt = time.Now()
}

// logWriter collects what the program logs, across its restarts.
type logWriter program

func (w *logWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(b)
}

// kill ends the process the way a power cut would.
func (p *program) kill() {
	p.mu.Lock()
	cmd, exited := p.cmd, p.exited
	p.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Kill()
	<-exited
}

// killed waits until the process has killed itself and reports whether it did.
func (p *program) killed(within time.Duration) bool {
	select {
	case <-p.exited:
	case <-time.After(within):
		return false
	}
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// terminate asks the process to stop and returns its exit code and how long it took.
func (p *program) terminate(within time.Duration) (code int, took time.Duration) {
	p.t.Helper()
	began := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-p.exited:
	case <-time.After(within):
		p.t.Fatalf("the program has not stopped within %s of SIGTERM", within)
	}
	return p.cmd.ProcessState.ExitCode(), time.Since(began)
}

// until waits for a condition.
func until(t *testing.T, what string, within time.Duration, condition func() bool) {
	t.Helper()
	deadline := time.After(within)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("waited %s in vain until %s", within, what)
		case <-tick.C:
		}
	}
}
