package wordlist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// Bounds of a list.
const (
	// MaxFile is the largest file of words, in bytes.
	MaxFile = 8 << 20
	// MaxWord is the longest word, in characters: so much of an answer is held back at
	// most while it is written.
	MaxWord = 100
)

// Load reads a file of words: UTF-8, one a line; blank lines and lines that begin
// with # do not count. A file without words is an error.
func Load(name string) ([]string, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read %s: %w", name, reason(err))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("cannot read %s: name a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, reason(err))
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, reason(err))
	}
	if len(content) > MaxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB: name the right file", name, MaxFile>>20)
	}
	list, err := parse(content)
	if err != nil {
		return nil, fmt.Errorf("%s%w", name, err)
	}
	return list, nil
}

func parse(content []byte) ([]string, error) {
	content = bytes.TrimPrefix(content, []byte("\uFEFF"))
	var list []string
	line := 0
	for text := range strings.Lines(string(content)) {
		line++
		word := strings.TrimSpace(text)
		switch {
		case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
			return nil, fmt.Errorf(":%d: is not UTF-8 text", line)
		case word == "" || strings.HasPrefix(word, "#"):
			continue
		case utf8.RuneCountInString(word) > MaxWord:
			return nil, fmt.Errorf(":%d: is longer than %d characters: write one word a line", line, MaxWord)
		}
		list = append(list, word)
	}
	if len(list) == 0 {
		return nil, errors.New(" holds no word: write one a line")
	}
	return list, nil
}

// reason is what is left of a file error when the name is said already.
func reason(err error) error {
	if pathError, ok := errors.AsType[*os.PathError](err); ok {
		return pathError.Err
	}
	return err
}
