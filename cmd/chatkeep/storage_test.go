package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/internal/testmysql"
	"github.com/chatkeep/chatkeep/sessionmgr/transfer"
)

// onFiles makes the place keep its sessions in files.
func (p *place) onFiles() (dir string) {
	p.t.Helper()
	dir = filepath.Join(p.dir, "files")
	p.t.Setenv("CHATKEEP_STORAGE_DRIVER", "file")
	p.t.Setenv("CHATKEEP_STORAGE_DSN", dir)
	return dir
}

// spoken is the content of all messages.jsonl below a directory.
func spoken(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "sessions", "cli-*", "messages.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return b.String()
}

// The driver file does all that the others do, beside a server too.
func TestFileDriver(t *testing.T) {
	p := newPlace(t, "")
	dir := p.onFiles()
	p.ask("one").wants(t, exitDone, "one\n", "")
	if got := spoken(t, dir); strings.Count(got, "\n") != 2 || !strings.Contains(got, `"content":"one"`) {
		t.Errorf("the file holds\n%s", got)
	}
	server, url := p.serve()
	p.ask("two").wants(t, exitDone, "two\n", "")
	p.wholeTurns("one", "two")
	second := p.start([]string{"CHATKEEP_SERVER_LISTEN=127.0.0.1:0"}, "serve")
	if code := second.wait(); code != exitFailed || !strings.Contains(second.err.String(), "stop the other server first") {
		t.Errorf("a second server: exit %d, %s", code, second.err)
	}
	resp, err := http.Get(url + "/readyz")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	_ = resp.Body.Close()
	k := p.sessions()[0].Key
	p.must("session", "delete", k)
	waitFor(t, "the files are gone", func() bool { return spoken(t, dir) == "" })
	p.ask("three").wants(t, exitDone, "three\n", "")
	waitFor(t, "the file", func() bool { return strings.Contains(spoken(t, dir), `"content":"three"`) })
	server.signal(os.Interrupt)
	if code := server.wait(); code != exitDone {
		t.Errorf("exit %d: %s", code, server.err)
	}
	schema := decode[schemaView](t, p.must("migrate", "status", "--json"))
	if schema.Current == 0 || schema.Current != schema.Newest {
		t.Errorf("schema %d of %d", schema.Current, schema.Newest)
	}
	if report := p.command("", "doctor"); report.code != exitDone || !strings.Contains(report.out, "file: reachable") {
		t.Errorf("%d: %s%s", report.code, report.out, report.err)
	}
	// What is left of a backup is enough, whichever command comes first.
	for _, path := range []string{"queue.db", "queue.db-wal", "queue.db-shm"} {
		_ = os.Remove(filepath.Join(dir, path))
	}
	if schema = decode[schemaView](t, p.must("migrate", "status", "--json")); schema.Current != 0 {
		t.Errorf("schema %d without a database", schema.Current)
	}
	p.must("migrate", "up")
	p.wholeTurns("three")
}

func TestStorageCopy(t *testing.T) {
	p := newPlace(t, "")
	for _, session := range []string{"a", "b", "c"} {
		p.ask("--session", session, "hello "+session).wants(t, exitDone, "hello "+session+"\n", "")
	}
	p.ask("--session", "a", "/new side")
	p.ask("--session", "a", "/remember likes=tea")
	p.must("task", "add", "--schedule", "0 9 * * *", "stand up")
	sqlite, mysql := "sqlite:"+filepath.Join(p.dir, "data", "chatkeep.db"), "mysql:"+testmysql.DSN(t)
	files := "file:" + filepath.Join(p.dir, "copy")
	back := "sqlite:" + filepath.Join(p.dir, "back.db")
	k := p.sessions()[0].Key
	whole := p.must("session", "export", k)
	for _, way := range [][2]string{{sqlite, mysql}, {mysql, files}, {files, back}} {
		got := decode[storageCopy](t, p.must("storage", "copy", "--json", "--from", way[0], "--to", way[1]))
		if got.Sessions != 3 || got.Copied != 3 || got.Rows != got.AddedRows || len(got.Failed) > 0 || strings.Contains(got.From+got.To, "@") && !strings.Contains(got.From+got.To, "mysql:") {
			t.Errorf("%v: %+v", way, got.Report)
		}
	}
	if got := p.must("storage", "copy", "--from", sqlite, "--to", back); !strings.Contains(got, "sessions: 0 copied, 3 there already, all 3 verified\n") {
		t.Error(got)
	}
	t.Setenv("CHATKEEP_STORAGE_DSN", strings.TrimPrefix(back, "sqlite:"))
	if got := p.must("session", "export", k); got != whole {
		t.Errorf("the session is now\n%s, was\n%s", got, whole)
	}
	if got := p.must("task", "list"); !strings.Contains(got, "stand up") {
		t.Error(got)
	}
	p.ask("--session", "b", "more").wants(t, exitDone, "more\n", "")
	r := p.command("", "storage", "copy", "--json", "--from", sqlite, "--to", back)
	got := decode[storageCopy](t, r.out)
	if r.code != exitFailed || got.Present != 2 || len(got.Failed) != 1 || !strings.HasSuffix(got.Failed[0].Key, "/b") || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, "another session") {
		t.Errorf("exit %d: %+v, %s", r.code, got.Report, r.err)
	}
}

func TestStorageCopyRefuses(t *testing.T) {
	p := newPlace(t, "")
	p.ask("hello").wants(t, exitDone, "hello\n", "")
	here := "sqlite:" + filepath.Join(p.dir, "data", "chatkeep.db")
	there := "file:" + filepath.Join(p.dir, "there")
	empty := filepath.Join(p.dir, "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(p.dir, "link.db")
	if err := os.Symlink(strings.TrimPrefix(here, "sqlite:"), link); err != nil {
		t.Fatal(err)
	}
	mysql := testmysql.DSN(t)
	for _, c := range []struct {
		from, to string
		code     int
		says     string
	}{
		{"", there, exitUsage, "--from must be DRIVER:DSN"},
		{here, "", exitUsage, "--to must be DRIVER:DSN"},
		{here, "postgres:x", exitUsage, "storage.driver"},
		{here, "mysql:root:s3cret@nowhere", exitUsage, "MySQL DSN"},
		{"memory:", there, exitUsage, "keeps nothing"},
		{here, "memory", exitUsage, "keeps nothing"},
		{here, "sqlite::memory:", exitUsage, "keeps nothing"},
		{"mysql:root@tcp(127.0.0.1:1)/chatkeep", there, exitFailed, "check storage.dsn"},
		{here, here, exitUsage, "same place"},
		{here, "sqlite:file:" + strings.TrimPrefix(here, "sqlite:") + "?_busy_timeout=1", exitUsage, "same place"},
		{here, "sqlite:" + link, exitUsage, "same place"},
		{"file:" + p.dir, "sqlite:" + filepath.Join(p.dir, "queue.db"), exitUsage, "same place"},
		{"mysql:" + mysql, "mysql:" + mysql, exitUsage, "same place"},
		{"sqlite:" + filepath.Join(p.dir, "nowhere.db"), there, exitFailed, "there is no chatkeep storage at"},
		{"sqlite:" + empty, there, exitFailed, "there is no chatkeep storage at"},
		{"file:" + filepath.Join(p.dir, "nowhere"), there, exitFailed, "there is no chatkeep storage at"},
		{"mysql:" + mysql, there, exitFailed, "there is no chatkeep storage at"},
	} {
		r := p.command("", "storage", "copy", "--from", c.from, "--to", c.to)
		if r.code != c.code || r.out != "" || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, c.says) || strings.Contains(r.err, "s3cret") {
			t.Errorf("%s to %s: exit %d, out %q, err %q", c.from, c.to, r.code, r.out, r.err)
		}
	}
	for _, made := range []string{"there", "nowhere", "nowhere.db", "queue.db"} {
		if _, err := os.Stat(filepath.Join(p.dir, made)); !os.IsNotExist(err) {
			t.Errorf("%s was made: %v", made, err)
		}
	}
	// One database by two names.
	copied := strings.Replace(mysql, "127.0.0.1", "localhost", 1)
	p.must("storage", "copy", "--from", here, "--to", "mysql:"+mysql)
	if r := p.command("", "storage", "copy", "--from", "mysql:"+mysql, "--to", "mysql:"+copied); r.code != exitUsage || !strings.Contains(r.err, "same place") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

func TestSessionImport(t *testing.T) {
	p := newPlace(t, "")
	p.ask("hello").wants(t, exitDone, "hello\n", "")
	p.ask("/new side")
	p.ask("more").wants(t, exitDone, "more\n", "")
	k := p.sessions()[0].Key
	whole := p.must("session", "export", k)
	p.command(whole, "session", "import", "-").wants(t, exitFailed, "", "exists already")
	p.must("session", "delete", k)
	p.command(whole, "session", "import", "-").wants(t, exitDone, "imported "+k+": 2 slots, 4 messages\n", "")
	if again := p.must("session", "export", k); again != whole {
		t.Errorf("it is now\n%s, was\n%s", again, whole)
	}
	p.must("session", "delete", k)
	file := filepath.Join(p.dir, "lin.jsonl")
	if err := os.WriteFile(file, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	var got transfer.Imported
	if err := json.Unmarshal([]byte(p.must("session", "import", "--json", file)), &got); err != nil || got.Key != k || got.Messages != 4 || got.Slots != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	p.ask("goes on").wants(t, exitDone, "goes on\n", "")
	p.must("session", "delete", k)
	p.command(strings.Replace(whole, `"role":"user"`, `"role":"boss"`, 1), "session", "import", "-").wants(t, exitFailed, "", "line 4: ")
	p.command("", "session", "import", filepath.Join(p.dir, "nowhere")).wants(t, exitFailed, "", "nowhere")
	if n := len(p.sessions()); n != 0 {
		t.Errorf("%d sessions", n)
	}
}
