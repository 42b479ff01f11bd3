package testmysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/internal/clock"
)

const (
	nobody = "127.0.0.1:1" // a port that no database listens on
	// childDir tells the test binary, run again as another process, which private server to use.
	childDir = "CHATKEEP_TESTMYSQL_CHILD_DIR"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(child(dir))
	}
	goleak.VerifyTestMain(m)
}

// child is another test process: it uses the server until its input ends, then
// dies without any clean-up.
func child(dir string) int {
	cfg, err := testPrivate(dir).acquire()
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	fmt.Println(cfg.Addr)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

func testPrivate(dir string) private {
	p := defaultPrivate()
	p.dir, p.linger = dir, 100*time.Millisecond
	return p
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func databases(t *testing.T, base *mysql.Config, name string) (n int) {
	t.Helper()
	db := open(t, base.FormatDSN())
	if err := db.QueryRowContext(t.Context(),
		"SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ?", name).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestDSNIsAFreshDatabaseThatIsDroppedAfterwards(t *testing.T) {
	var names []string
	t.Run("use", func(t *testing.T) {
		for range 2 {
			dsn := DSN(t)
			db := open(t, dsn)
			var name, charset, zone string
			if err := db.QueryRowContext(t.Context(),
				"SELECT DATABASE(), @@character_set_database, @@time_zone").Scan(&name, &charset, &zone); err != nil {
				t.Fatal(err)
			}
			if charset != "utf8mb4" || zone != "+00:00" {
				t.Errorf("charset %s, zone %s", charset, zone)
			}
			names = append(names, name)
			if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (v TEXT)"); err != nil {
				t.Fatal("not empty: ", err)
			}
			var back string
			if _, err := db.ExecContext(t.Context(), "INSERT INTO t VALUES (?)", "🦊 你好"); err != nil {
				t.Fatal(err)
			}
			if err := db.QueryRowContext(t.Context(), "SELECT v FROM t").Scan(&back); err != nil || back != "🦊 你好" {
				t.Fatalf("read back %q, %v", back, err)
			}
		}
	})
	base, err := server()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if databases(t, base, name) != 0 {
			t.Errorf("%s is still there", name)
		}
	}
	if len(names) != 2 || names[0] == names[1] {
		t.Errorf("names %v", names)
	}
}

func TestDSNCarriesTheProductsParameters(t *testing.T) {
	dsn := DSN(t)
	for _, param := range []string{
		"charset=utf8mb4", "parseTime=true", "time_zone=%27%2B00%3A00%27", "interpolateParams=true",
		"clientFoundRows=true", "timeout=5s", "readTimeout=30s", "writeTimeout=30s",
	} {
		if !strings.Contains(dsn, param) {
			t.Errorf("%s lacks %s", dsn, param)
		}
	}
	if cfg, err := mysql.ParseDSN(dsn); err != nil || cfg.Loc != time.UTC {
		t.Errorf("%s: %v, location %v", dsn, err, cfg.Loc)
	}
}

func TestServerFromTheEnvironment(t *testing.T) {
	there, err := server()
	if err != nil {
		t.Fatal(err)
	}
	cfg := there.Clone()
	cfg.DBName, cfg.ParseTime = "mysql", false
	got, err := locate(cfg.FormatDSN(), nobody, private{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Addr != there.Addr || got.DBName != "" || !got.ParseTime {
		t.Errorf("got %s", got.FormatDSN())
	}
	for _, bad := range []string{"no dsn", "root@tcp(" + nobody + ")/"} {
		// A server that was named and fails is an error, never a reason to use another.
		if _, err := locate(bad, there.Addr, private{}); err == nil || !strings.Contains(err.Error(), EnvDSN) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestServerThatAnswersLocally(t *testing.T) {
	there, err := server()
	if err != nil {
		t.Fatal(err)
	}
	passwordless := there.User == "root" && there.Passwd == ""
	got, err := locate("", there.Addr, private{})
	if found := err == nil && got.Addr == there.Addr; found != passwordless {
		t.Fatalf("root without a password is %v, but got %v, %v", passwordless, got, err)
	}
}

func TestPrivateServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "private")

	// Two processes at once get the same server.
	first, second := startChild(t, dir), startChild(t, dir)
	addr := first.addr(t)
	if other := second.addr(t); other != addr {
		t.Fatalf("two servers: %s and %s", addr, other)
	}
	var logged, tmp string
	t.Run("database", func(t *testing.T) {
		db := open(t, create(t, rootAt(addr)))
		if err := db.QueryRowContext(t.Context(), "SELECT @@innodb_flush_log_at_trx_commit, @@tmpdir").Scan(&logged, &tmp); err != nil {
			t.Fatal(err)
		}
	})
	if logged != "1" {
		t.Errorf("innodb_flush_log_at_trx_commit = %s, want the durable 1", logged)
	}
	if !strings.HasPrefix(tmp, dir+"/run-") {
		t.Errorf("its temporary tables are in %s, where another server that starts removes them", tmp)
	}

	// It stays while one of them lives, however the other ends.
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	third := startChild(t, dir)
	if other := third.addr(t); other != addr {
		t.Errorf("another server: %s, had %s", other, addr)
	}

	// The last one out stops it, and leaves no data behind.
	second.end(t)
	if err := third.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server stops", func() bool { return run(rootAt(addr), ping) != nil })
	eventually(t, "its files go", func() bool {
		runs, err := filepath.Glob(filepath.Join(dir, "run-*"))
		return err == nil && len(runs) == 0
	})

	// And a later one starts afresh.
	late := startChild(t, dir)
	if err := run(rootAt(late.addr(t)), ping); err != nil {
		t.Error(err)
	}
	late.end(t)
	eventually(t, "the second server's files go", func() bool {
		runs, err := filepath.Glob(filepath.Join(dir, "run-*"))
		return err == nil && len(runs) == 0
	})
}

func TestPrivateServerRefusesAForeignDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "private")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := testPrivate(dir).acquire(); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
}

func TestFailureSaysWhatToDo(t *testing.T) {
	t.Setenv("PATH", binDir(t, "flock"))
	p := testPrivate(filepath.Join(t.TempDir(), "private"))
	p.install = installer{root: true}
	_, err := locate("", nobody, p)
	if err == nil {
		t.Fatal("found a server where there is none")
	}
	for _, part := range []string{EnvDSN, nobody, debianPackage, "apt-get"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not mention %s", err, part)
		}
	}
}

func TestInstallsThePackageAsRootOnly(t *testing.T) {
	dir := binDir(t, "flock")
	t.Setenv("PATH", dir)
	script := "#!/bin/sh\necho \"$@\" >>" + dir + "/calls\n" +
		"case $1 in install) for p in mariadbd mariadb-install-db; do /bin/ln -s /bin/true " + dir + "/$p; done;; esac\n"
	if err := os.WriteFile(filepath.Join(dir, "apt-get"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := (installer{root: false}).find(); err == nil || !strings.Contains(err.Error(), "root") {
		t.Errorf("without root: %v", err)
	}
	bin, err := (installer{root: true}).find()
	if err != nil || bin.server != filepath.Join(dir, "mariadbd") || bin.initialise != filepath.Join(dir, "mariadb-install-db") {
		t.Fatalf("got %+v, %v", bin, err)
	}
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil || !strings.Contains(string(calls), "install -y --no-install-recommends "+debianPackage) {
		t.Errorf("apt-get was called with %q, %v", calls, err)
	}
}

// binDir makes a directory with links to the named programs alone.
func binDir(t *testing.T, programs ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	out   func() (string, error)
}

func startChild(t *testing.T, dir string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &process{cmd: cmd, stdin: stdin, out: sync.OnceValues(func() (string, error) {
		line := make([]byte, 4096)
		n, err := stdout.Read(line)
		return strings.TrimSpace(string(line[:n])), err
	})}
}

// addr waits for the address of the server that the process uses.
func (p *process) addr(t *testing.T) string {
	t.Helper()
	line, err := p.out()
	if err != nil || strings.HasPrefix(line, "error:") {
		t.Fatalf("%s, %v", line, err)
	}
	return line
}

func (p *process) end(t *testing.T) {
	t.Helper()
	if err := errors.Join(p.stdin.Close(), p.cmd.Wait()); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !is() {
		if clock.Sleep(ctx, clock.Real(), 50*time.Millisecond) != nil {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}
