package lifecycle

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/sessionmgr/transfer"
)

// errUnverified means that a file does not hold what was written to it.
var errUnverified = errors.New("the file does not hold what was written")

// export writes a session to a file of its own and reads it back. The file is there
// as a whole or not at all. A later export of the same session replaces it; one of
// another session under the same key does not.
func export(ctx context.Context, r transfer.Reader, key, dir string) error {
	session, err := r.Session(ctx, key)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	tmp, err := os.CreateTemp(dir, ".session-*.tmp")
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // it is gone once it has its name
	err = writeSession(ctx, r, key, tmp)
	if closeErr := tmp.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("export: %w", closeErr)
	}
	if err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), filepath.Join(dir, fileName(key, session.CreatedAt))); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return syncDir(dir)
}

func writeSession(ctx context.Context, r transfer.Reader, key string, file *os.File) error {
	out, written := bufio.NewWriter(file), sha256.New()
	if err := transfer.Export(ctx, r, key, transfer.Options{Format: transfer.JSONL, Whole: true}, io.MultiWriter(out, written)); err != nil {
		return err
	}
	err := out.Flush()
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	read := sha256.New()
	if err := verify(io.TeeReader(file, read), key); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if !bytes.Equal(read.Sum(nil), written.Sum(nil)) {
		return fmt.Errorf("export: %w", errUnverified)
	}
	return nil
}

// verify reads a document to its end: it must be that of the session, and hold as
// much as its last line says.
func verify(r io.Reader, key string) error {
	lines := json.NewDecoder(r)
	var counted transfer.Counts
	var said *transfer.Counts
	session := ""
	for said == nil {
		var line transfer.Record
		if err := lines.Decode(&line); err != nil {
			return fmt.Errorf("%w: %w", errUnverified, err)
		}
		switch {
		case line.Session != nil:
			session = line.Session.Key
		case line.Slot != nil:
			counted.Slots++
		case line.Message != nil:
			counted.Messages++
		}
		said = line.End
	}
	rest, err := io.ReadAll(io.MultiReader(lines.Buffered(), r))
	if err != nil {
		return err
	}
	if session != key || counted.Slots != said.Slots || counted.Messages != said.Messages || len(bytes.TrimSpace(rest)) > 0 {
		return errUnverified
	}
	return nil
}

// longName bounds what of a key a file's name shows.
const longName = 120

// fileName names the file of a session: readable, and unique by its hash.
func fileName(key string, created time.Time) string {
	shown := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".-", r) {
			return r
		}
		return '_'
	}, key)
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", key, created.UnixMicro()))
	return fmt.Sprintf("%s-%x.jsonl", shown[:min(len(shown), longName)], sum[:8])
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer func() { _ = d.Close() }()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}
