package testmysql

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
)

// linger is how long an unused server waits for the next test process.
const linger = 5 * time.Second

// held keeps the lock's file from being collected, which would close it.
var held atomic.Pointer[os.File]

// private is the server that test processes of one user share. Two lock files
// in dir keep it right whatever dies: "gate" admits one process at a time to
// look for or start the server; "users" is held shared by every process that
// uses it, until the kernel lets go of it with the process. A supervisor stops
// the server when it gets "users" for itself.
type private struct {
	dir     string
	linger  time.Duration
	install installer
}

func defaultPrivate() private {
	return private{
		dir:     filepath.Join(os.TempDir(), "chatkeep-testmysql-"+strconv.Itoa(os.Getuid())),
		linger:  linger,
		install: debianInstaller(),
	}
}

// acquire returns the running server, starting it if need be, and keeps it
// alive until this process ends, however it ends: the kernel takes the lock back.
func (p private) acquire() (*mysql.Config, error) {
	if err := p.makeDir(); err != nil {
		return nil, err
	}
	gate, err := lock(filepath.Join(p.dir, "gate"), syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer func() { _ = gate.Close() }()

	users, err := lock(p.usersFile(), syscall.LOCK_SH)
	if err != nil {
		return nil, err
	}
	cfg, err := p.findOrStart()
	if err != nil {
		return nil, errors.Join(err, users.Close())
	}
	held.Store(users)
	return cfg, nil
}

func (p private) usersFile() string { return filepath.Join(p.dir, "users") }

func (p private) findOrStart() (*mysql.Config, error) {
	addrFile := filepath.Join(p.dir, "addr")
	if addr, err := os.ReadFile(addrFile); err == nil {
		cfg := rootAt(string(addr))
		if run(cfg, ping) == nil {
			return cfg, nil
		}
	}
	cfg, err := p.start()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(addrFile, []byte(cfg.Addr), 0o600); err != nil {
		return nil, err
	}
	return cfg, nil
}

// makeDir makes the shared directory and refuses one that somebody else made.
func (p private) makeDir() error {
	if err := os.Mkdir(p.dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(p.dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || info.Mode().Perm() != 0o700 || int(stat.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a directory of this user alone; remove it", p.dir)
	}
	return nil
}

// lock opens a file and waits for its lock, which lasts until the file is
// closed. Child processes do not inherit it.
func lock(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
	}
}
