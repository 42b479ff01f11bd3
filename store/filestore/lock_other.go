//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package filestore

import (
	"errors"
	"io/fs"
	"os"
)

// tryLock relies on a mandatory lock: here a file that is open cannot be removed.
func tryLock(path string) (unlock func(), held bool, err error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, fileMode)
	if errors.Is(err, fs.ErrExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return func() { _ = f.Close() }, true, nil
}

// syncDir does nothing: directories cannot be synced here.
func syncDir(string) error { return nil }
