package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/internal/testmysql"
)

func TestConfigCommands(t *testing.T) {
	p := newPlace(t, "server: {adminToken: s3cret}\n")
	p.command("", "config", "check").wants(t, exitDone, "the configuration is valid\n", "")
	for _, form := range []string{"", "--json"} {
		text := p.must(append([]string{"config", "print"}, strings.Fields(form)...)...)
		if strings.Contains(text, "s3cret") || !strings.Contains(text, config.Hidden) || !strings.Contains(text, "adminToken") {
			t.Errorf("print %s: %s", form, text)
		}
		if _, err := config.Parse("printed", []byte(text), nil); err != nil {
			t.Errorf("print %s is no configuration: %v", form, err)
		}
	}
	if schema := p.must("config", "schema"); !strings.Contains(schema, `"$defs"`) {
		t.Error(schema)
	}
	if got := p.must("config", "reference"); got != config.Reference() {
		t.Error(got)
	}
}

func TestConfigCheckReportsAll(t *testing.T) {
	p := newPlace(t, "servr: 1\nlog: {level: loud}\n")
	r := p.command("", "config", "check")
	if r.code != exitFailed || r.out != "" || strings.Count(r.err, "\n") != 2 || !strings.Contains(r.err, ":2: ") || !strings.Contains(r.err, "log.level") {
		t.Errorf("exit %d: %q, %q", r.code, r.out, r.err)
	}
	r = p.command("", "config", "check", "--json")
	got := decode[checkResult](t, r.out)
	if r.code != exitFailed || r.err != "" || got.Valid || len(got.Problems) != 2 || got.Problems[0].Line != 2 {
		t.Errorf("exit %d: %+v, %q", r.code, got, r.err)
	}
	p.config = filepath.Join(p.dir, "absent.yaml")
	if r := p.command("", "config", "check"); r.code != exitFailed || !strings.Contains(r.err, "absent.yaml") {
		t.Errorf("exit %d: %q", r.code, r.err)
	}
}

func TestMigrate(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T){
		"sqlite": func(*testing.T) {},
		"mysql": func(t *testing.T) {
			t.Helper()
			t.Setenv("CHATKEEP_STORAGE_DRIVER", "mysql")
			t.Setenv("CHATKEEP_STORAGE_DSN", testmysql.DSN(t))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, "")
			prepare(t)
			before := decode[schemaView](t, p.must("migrate", "status", "--json"))
			if before.Current != 0 || before.Newest == 0 || len(before.Migrations) == 0 || before.Migrations[0].Applied {
				t.Errorf("before: %+v", before)
			}
			if _, err := os.Stat(filepath.Join(p.dir, "data")); !os.IsNotExist(err) {
				t.Errorf("status made files: %v", err)
			}
			after := decode[schemaView](t, p.must("migrate", "up", "--json"))
			if after.Current != after.Newest || after.Newest != before.Newest || after.Migrations[0].AppliedAt == nil {
				t.Errorf("after: %+v", after)
			}
			p.must("migrate", "up")
			if text := p.must("migrate", "status"); !strings.HasPrefix(text, "VERSION") || strings.Contains(text, "pending") {
				t.Error(text)
			}
			p.ask("hello").wants(t, exitDone, "hello\n", "")
		})
	}
}

func TestVersion(t *testing.T) {
	p := newPlace(t, "servr: 1\n") // needs no configuration
	v := decode[versionView](t, p.must("version", "--json"))
	if v.Version != version || !strings.HasPrefix(v.Go, "go1.") || v.Schema < 1 {
		t.Errorf("%+v", v)
	}
	if text := p.must("version"); !strings.HasPrefix(text, "chatkeep "+version+" (") {
		t.Error(text)
	}
}

func TestCompletion(t *testing.T) {
	p := newPlace(t, "servr: 1\n")
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if script := p.must("completion", shell); !strings.Contains(script, "chatkeep") || !strings.Contains(script, shell) {
			t.Errorf("%s: %q", shell, script)
		}
	}
}

// Every command says what it does, and takes --config.
func TestHelp(t *testing.T) {
	p := newPlace(t, "")
	for _, words := range []string{
		"", "serve", "run", "chat", "session", "session list", "session show", "session history", "session export", "session reset",
		"session archive", "session restore", "session move", "session delete", "migrate up", "migrate status", "config check", "config print", "config schema",
		"config reference", "doctor", "health", "version", "completion bash",
	} {
		text := p.must(append(strings.Fields(words), "--help")...)
		if !strings.Contains(text, "Usage:\n  chatkeep "+words) || !strings.Contains(text, "--config") {
			t.Errorf("%s: %s", words, text)
		}
	}
}

func TestHealth(t *testing.T) {
	asked := make(chan string, 10)
	status := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"status":"ok","version":"x"}`))
	}))
	defer s.Close()
	p := newPlace(t, "")
	t.Setenv("CHATKEEP_SERVER_LISTEN", strings.TrimPrefix(s.URL, "http://"))
	for _, args := range [][]string{{"health"}, {"health", "--url", s.URL}, {"health", "--url", s.URL + "/"}, {"health", "--url", s.URL + "/healthz"}} {
		p.command("", args...).wants(t, exitDone, "ok\n", "")
		if path := <-asked; path != "/healthz" {
			t.Errorf("%v asked %s", args, path)
		}
	}
	p.command("", "health", "--json").wants(t, exitDone, `{"status":"ok","version":"x"}`+"\n", "")
	status = http.StatusServiceUnavailable
	p.command("", "health").wants(t, exitFailed, "", "503")
	s.Close()
	p.command("", "health").wants(t, exitFailed, "", "chatkeep serve")
}

func TestListenURL(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080/healthz", ":80": "http://127.0.0.1:80/healthz", "0.0.0.0:80": "http://127.0.0.1:80/healthz",
		"[::]:80": "http://[::1]:80/healthz", "[fe80::1]:80": "http://[fe80::1]:80/healthz", "example.com:80": "http://example.com:80/healthz",
	} {
		if got, err := listenURL(listen); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", listen, got, err, want)
		}
	}
}

func TestDoctor(t *testing.T) {
	model := agenttest.NewServer(agenttest.ServerOptions{APIKey: "k"})
	p := withModel(t, model)
	r := p.command("", "doctor")
	if r.code != exitDone || r.err != "" || strings.Count(r.out, "\n") != 3 {
		t.Errorf("exit %d: %q, %q", r.code, r.out, r.err)
	}
	for _, check := range []string{"database", "clock", "agent assistant"} {
		if !strings.Contains(r.out, check) {
			t.Errorf("%s is missing in %q", check, r.out)
		}
	}
	t.Setenv("CHATKEEP_STORAGE_DRIVER", "mysql")
	t.Setenv("CHATKEEP_STORAGE_DSN", testmysql.DSN(t))
	if r := p.command("", "doctor"); r.code != exitDone || !strings.Contains(r.out, "utf8mb4") {
		t.Errorf("exit %d: %q, %q", r.code, r.out, r.err)
	}
}

func TestDoctorFindsFaults(t *testing.T) {
	model := agenttest.NewServer(agenttest.ServerOptions{APIKey: "other"})
	p := withModel(t, model)
	t.Setenv("CHATKEEP_STORAGE_DRIVER", "mysql")
	t.Setenv("CHATKEEP_STORAGE_DSN", "u:pa55@tcp(127.0.0.1:1)/db")
	r := p.command("", "doctor", "--json")
	got := decode[report](t, r.out)
	if r.code != exitFailed || got.OK || got.errors() != 2 || !strings.Contains(r.err, "2 findings") || strings.Contains(r.out, "pa55") {
		t.Errorf("exit %d: %s, %q", r.code, r.out, r.err)
	}
	p.command("", "session", "list").wants(t, exitFailed, "", "storage.dsn")
	p.ask("x").wants(t, exitFailed, "", "storage.dsn")
}

// Sessions that a change of the configuration cut off are named.
func TestDoctorFindsOrphans(t *testing.T) {
	p := newPlace(t, "agents: [{id: old, kind: echo}]\n")
	p.ask("hello").wants(t, exitDone, "hello\n", "")
	t.Setenv("CHATKEEP_STORAGE_DSN", filepath.Join(p.dir, "data", "chatkeep.db"))
	if err := os.WriteFile(p.config, []byte("agents: [{id: new, kind: echo}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := p.command("", "doctor")
	if r.code != exitDone || !strings.Contains(r.out, "1 of the newest 1 ") || !strings.Contains(r.out, "agent:old:channel:cli:") {
		t.Errorf("exit %d: %q, %q", r.code, r.out, r.err)
	}
}

func TestDoctorWarns(t *testing.T) {
	cfg := config.Default()
	cfg.Storage.Driver = config.DriverMemory
	cfg.Channels.API[0].Scope.Direct = config.ScopeMain
	r := examine(context.WithoutCancel(t.Context()), cfg)
	warnings := 0
	for _, f := range r.Findings {
		if f.Level == levelWarning {
			warnings++
		}
	}
	if !r.OK || warnings != 2 {
		t.Errorf("%+v", r)
	}
}
