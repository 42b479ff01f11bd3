//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package gormstore

import (
	"fmt"
	"os"

	"github.com/chatkeep/chatkeep/store"
)

// lockFile relies on a mandatory lock: here a file that is open cannot be removed.
func lockFile(path string) (*os.File, error) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("gormstore: %s: %w", path, store.ErrLocked)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("gormstore: lock file: %w", err)
	}
	return f, nil
}
