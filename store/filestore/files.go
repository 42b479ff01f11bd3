package filestore

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Conversations are for their owner's eyes.
const (
	dirMode  = 0o700
	fileMode = 0o600
	// bufferSize is how much of a file is held at once, but for a line.
	bufferSize = 64 << 10
)

// writeFile replaces a file by what write writes: all of it or, whatever happens, none.
// A file that holds just that is left alone.
func writeFile(path string, write func(w *bufio.Writer) error) error {
	part := path + partFile
	f, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_RDWR, fileMode)
	if err != nil {
		return err
	}
	same, err := fillFile(f, path, write)
	err = errors.Join(err, f.Close())
	if err != nil || same {
		return errors.Join(err, os.Remove(part))
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// fillFile writes f, and syncs it unless it is the same as what is at path.
func fillFile(f *os.File, path string, write func(w *bufio.Writer) error) (same bool, err error) {
	w := bufio.NewWriterSize(f, bufferSize)
	if err := write(w); err != nil {
		return false, err
	}
	if err := w.Flush(); err != nil {
		return false, err
	}
	if sameAs(f, path) {
		return true, nil
	}
	return false, f.Sync()
}

// sameAs reports whether a file is the same as what is at path, and that is on the
// disk. What cannot be read is not the same: it is replaced.
func sameAs(f *os.File, path string) bool {
	old, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer func() { _ = old.Close() }()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false
	}
	a, b := make([]byte, bufferSize), make([]byte, bufferSize)
	for {
		n, errA := io.ReadFull(f, a)
		m, errB := io.ReadFull(old, b)
		switch {
		case !bytes.Equal(a[:n], b[:m]):
			return false
		case ended(errA) && ended(errB):
			return old.Sync() == nil
		case errA != nil || errB != nil:
			return false
		}
	}
}

func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// appendFile adds to a file and returns when it is on the disk.
func appendFile(path string, write func(w *bufio.Writer) error) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, bufferSize)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// makeDir makes a directory and what is above it, for good.
func makeDir(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	if err := os.MkdirAll(path, dirMode); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// remove removes a file or directory with all in it; one that is not there is fine.
func remove(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// writeLine writes a value as one line of JSON.
func writeLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// lastLine returns the last line of a file without its end, nil if the file is empty.
// A last line that has no end was torn.
func lastLine(path string) (line []byte, torn bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return nil, false, err
	}
	for size := int64(4 << 10); ; size *= 4 {
		from := max(end-size, 0)
		tail := make([]byte, end-from)
		if _, err := f.ReadAt(tail, from); err != nil {
			return nil, false, err
		}
		whole, ended := bytes.CutSuffix(tail, []byte("\n"))
		if !ended {
			return nil, true, nil
		}
		if i := bytes.LastIndexByte(whole, '\n'); i >= 0 || from == 0 {
			return whole[i+1:], false, nil
		}
	}
}

// readLines visits the lines of a file with their places, without their ends. A torn
// last line is left out. Lines may be as long as a message can get.
func readLines(path string, visit func(at int64, line []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	r, at := bufio.NewReaderSize(f, bufferSize), int64(0)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := visit(at, line[:len(line)-1]); err != nil {
			return fmt.Errorf("%s at byte %d: %w", filepath.Base(path), at, err)
		}
		at += int64(len(line))
	}
}
