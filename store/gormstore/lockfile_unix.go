//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package gormstore

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/chatkeep/chatkeep/store"
)

// lockFile holds a lock that ends with the process, however it ends.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("gormstore: lock file: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("gormstore: %s: %w", path, store.ErrLocked)
		}
		return nil, fmt.Errorf("gormstore: lock %s: %w", path, err)
	}
	return f, nil
}
