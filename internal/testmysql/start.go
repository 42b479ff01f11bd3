package testmysql

import (
	"context"
	_ "embed" // for the supervisor's script
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/chatkeep/chatkeep/internal/clock"
)

const (
	installTimeout = 60 * time.Second
	startTimeout   = 60 * time.Second
	startAttempts  = 3 // the free port may be taken before the server binds it
	pollInterval   = 50 * time.Millisecond
	logTail        = 2000 // bytes of the server's log in an error
)

//go:embed supervise.sh
var supervise string

// rootByTCP lets root in from 127.0.0.1 without a password, whatever the
// installation's defaults are. The server listens nowhere else.
const rootByTCP = `CREATE OR REPLACE USER 'root'@'127.0.0.1' IDENTIFIED BY '';
GRANT ALL PRIVILEGES ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;
`

func (p private) start() (*mysql.Config, error) {
	bin, err := p.install.find()
	if err != nil {
		return nil, err
	}
	var errs []error
	for range startAttempts {
		cfg, err := p.startOnce(bin)
		if err == nil {
			return cfg, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (p private) startOnce(bin binaries) (*mysql.Config, error) {
	rundir, err := os.MkdirTemp(p.dir, "run-")
	if err != nil {
		return nil, err
	}
	data, tmp := filepath.Join(rundir, "data"), filepath.Join(rundir, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return nil, err
	}
	if err := initialise(bin, data, tmp); err != nil {
		return nil, err
	}
	initFile := filepath.Join(rundir, "init.sql")
	if err := os.WriteFile(initFile, []byte(rootByTCP), 0o600); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	logFile, err := os.Create(filepath.Join(rundir, "log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = logFile.Close() }()

	args := []string{
		"-c", supervise, "supervise", p.usersFile(), strconv.FormatFloat(p.linger.Seconds(), 'f', -1, 64), rundir,
		bin.server, "--no-defaults", "--datadir=" + data, "--tmpdir=" + tmp, "--init-file=" + initFile,
		"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(port), "--socket=mysqld.sock", "--skip-name-resolve",
		"--character-set-server=utf8mb4", "--max-connections=500", "--max-allowed-packet=64M",
		"--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=256M", "--innodb-log-file-size=128M",
		"--skip-log-bin", "--performance-schema=OFF",
	}
	cmd := exec.Command("/bin/sh", append(args, asUser()...)...) //nolint:noctx // it outlives this process by design
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // an interrupt of the tests is not for the server
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if err := cmd.Process.Release(); err != nil {
		return nil, err
	}
	return waitReady(port, rundir)
}

// initialise makes the data directory. Its own tmp is as for the server: a server that
// starts removes all temporary tables that it finds in one, those of others too.
func initialise(bin binaries, data, tmp string) error {
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	args := []string{
		"--no-defaults", "--datadir=" + data, "--tmpdir=" + tmp, "--auth-root-authentication-method=normal",
		"--skip-test-db", "--innodb-log-file-size=128M",
	}
	out, err := exec.CommandContext(ctx, bin.initialise, append(args, asUser()...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", bin.initialise, err, tail(out))
	}
	return nil
}

// asUser keeps mariadbd from refusing to run as root.
func asUser() []string {
	if u, err := user.Current(); err == nil && u.Uid == "0" {
		return []string{"--user=" + u.Username}
	}
	return nil
}

func waitReady(port int, rundir string) (*mysql.Config, error) {
	cfg := rootAt(net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		err := run(cfg, ping)
		if err == nil {
			return cfg, nil
		}
		if exited(filepath.Join(rundir, "pid")) {
			err = errors.New("mariadbd exited")
		} else if clock.Sleep(ctx, clock.Real(), pollInterval) == nil {
			continue
		}
		out, _ := os.ReadFile(filepath.Join(rundir, "log"))
		return nil, fmt.Errorf("mariadbd does not come up: %w: %s", err, tail(out))
	}
}

// exited reports that the process of a pid file is gone.
func exited(pidFile string) bool {
	content, err := os.ReadFile(pidFile)
	if err != nil {
		return false // not written yet
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	return err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

func freePort() (int, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("no port in %v", l.Addr())
	}
	return addr.Port, nil
}

func tail(out []byte) string {
	return strings.TrimSpace(string(out[max(0, len(out)-logTail):]))
}
