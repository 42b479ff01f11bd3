package testmysql

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// debianPackage has mariadbd and mariadb-install-db, and starts no service.
const debianPackage = "mariadb-server-core"

const aptTimeout = 5 * time.Minute

type binaries struct{ server, initialise string }

// installer finds MariaDB's programs and installs them where they are missing
// and this process may do so.
type installer struct {
	dirs []string // searched besides PATH, which often lacks sbin
	root bool
}

func debianInstaller() installer {
	return installer{dirs: []string{"/usr/sbin", "/usr/local/sbin", "/usr/local/bin"}, root: os.Getuid() == 0}
}

func (i installer) find() (binaries, error) {
	if _, err := exec.LookPath("flock"); err != nil {
		return binaries{}, fmt.Errorf("flock (package util-linux) is missing: %w", err)
	}
	bin, err := i.lookUp()
	if err == nil {
		return bin, nil
	}
	if err := i.aptInstall(); err != nil {
		return binaries{}, err
	}
	return i.lookUp()
}

func (i installer) lookUp() (binaries, error) {
	server, err := i.program("mariadbd")
	if err != nil {
		return binaries{}, err
	}
	initialise, err := i.program("mariadb-install-db")
	return binaries{server: server, initialise: initialise}, err
}

func (i installer) program(name string) (string, error) {
	path, err := exec.LookPath(name)
	for _, dir := range i.dirs {
		if err == nil {
			break
		}
		path, err = exec.LookPath(filepath.Join(dir, name))
	}
	return path, err
}

func (i installer) aptInstall() error {
	apt, err := exec.LookPath("apt-get")
	switch {
	case err != nil:
		return errors.New("mariadbd is not installed, and there is no apt-get to install it with")
	case !i.root:
		return errors.New("mariadbd is not installed, and only root could install it")
	}
	ctx, cancel := context.WithTimeout(context.Background(), aptTimeout)
	defer cancel()
	for _, args := range [][]string{
		{"update"},
		{"install", "-y", "--no-install-recommends", debianPackage},
	} {
		cmd := exec.CommandContext(ctx, apt, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %v: %w: %s", args, err, tail(out))
		}
	}
	return nil
}
