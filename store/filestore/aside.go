package filestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// asideMark and a number follow the name of a directory that was set aside.
const asideMark = ".unreadable-"

// claim sets a directory aside that is not known to be the session's, before the
// session is written there: what is in it may be all that is left of a conversation.
func (m *mirror) claim(ctx context.Context, dir, key string) error {
	cause := foreign(dir, key)
	if cause == nil {
		return nil
	}
	return m.setAside(ctx, dir, cause)
}

// foreign says why a directory is not the session's; nil: it is, or holds nothing.
func foreign(dir, key string) error {
	text, err := os.ReadFile(filepath.Join(dir, metaFile))
	if errors.Is(err, fs.ErrNotExist) {
		return holdsMore(dir, err)
	}
	if err != nil {
		return err
	}
	m := &meta{}
	if err := json.Unmarshal(text, m); err != nil {
		return fmt.Errorf("%s: %w", metaFile, err)
	}
	if m.Format != format || m.Version > version || m.Key != key {
		return fmt.Errorf("%s is of format %q, version %d, or of another session", metaFile, m.Format, m.Version)
	}
	return nil
}

// holdsMore returns cause if there is more in a directory than a file that was begun.
func holdsMore(dir string, cause error) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), partFile) {
			return cause
		}
	}
	return nil
}

// setAside gives a directory a name where nothing is written, and logs it.
func (m *mirror) setAside(ctx context.Context, dir string, cause error) error {
	to := ""
	for n := 1; to == "" || exists(to); n++ {
		to = fmt.Sprintf("%s%s%d", dir, asideMark, n)
	}
	if err := os.Rename(dir, to); err != nil {
		return fmt.Errorf("set aside: %w", err)
	}
	m.log.ErrorContext(ctx, "session directory cannot be read and was set aside", "directory", filepath.Base(dir), "as", filepath.Base(to), "error", cause)
	return syncDir(m.root)
}
