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
)

// writeFile replaces a file by what write writes: all of it or, whatever happens, none.
func writeFile(path string, write func(w *bufio.Writer) error) (err error) {
	part := path + partFile
	f, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 64<<10)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// appendFile adds to a file and returns when it is on the disk.
func appendFile(path string, write func(w *bufio.Writer) error) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 64<<10)
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
	r, at := bufio.NewReaderSize(f, 64<<10), int64(0)
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
