package config

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// kind is the type that a value has in the file.
type kind int

const (
	kindNull kind = iota
	kindBool
	kindInt
	kindFloat
	kindText
	kindList
	kindMap
)

func (k kind) String() string {
	return [...]string{"nothing", "true or false", "a whole number", "a number", "text", "a list", "a group of keys"}[k]
}

// node is a value of the file, from YAML and JSON alike.
type node struct {
	kind kind
	line int
	text string // of a scalar
	// loose text comes from the environment and may stand for any scalar.
	loose bool
	// bad values are reported already and not decoded.
	bad     bool
	items   []*node // of a list
	entries []entry // of a map, in order, duplicates included
}

type entry struct {
	key   string
	line  int
	value *node
}

// Bounds on what is read: far beyond any real configuration, and small enough
// that no parser can exhaust memory or stack.
const (
	maxFileBytes = 1 << 20
	maxDepth     = 64
	maxNodes     = 1 << 20
)

var (
	errTooDeep = errors.New("is nested too deeply: write it flatter")
	errTooMany = errors.New("grows too large through its aliases: write them out")
)

// syntaxError says where a file cannot be read.
type syntaxError struct {
	line    int
	message string
}

func (e *syntaxError) Error() string { return e.message }

// parse reads a document; name decides only whether broken JSON is explained
// as JSON. An empty document is a null node.
func parse(name string, data []byte) (*node, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if err := checkText(data); err != nil {
		return nil, err
	}
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	if bytes.HasPrefix(trimmed, []byte("{")) {
		root, err := parseJSON(data)
		if err == nil || strings.EqualFold(filepath.Ext(name), ".json") {
			return root, err
		}
	}
	return parseYAML(data)
}

// checkText refuses what is no text, and nesting that recursive parsers would
// not survive.
func checkText(data []byte) error {
	line, open := 1, 0
	for rest := data; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			return &syntaxError{line, "is not valid UTF-8: save it as UTF-8"}
		case r == 0:
			return &syntaxError{line, "holds a NUL byte: save it as text"}
		case r == '\n':
			line++
		case r == '[' || r == '{':
			open++
		case r == ']' || r == '}':
			open = max(0, open-1)
		}
		if open > 16*maxDepth {
			return &syntaxError{line, errTooDeep.Error()}
		}
		rest = rest[size:]
	}
	for i, text := range bytes.Split(data, []byte("\n")) {
		if bytes.Count(text, []byte("- "))+bytes.Count(text, []byte("? ")) > 16*maxDepth {
			return &syntaxError{i + 1, errTooDeep.Error()}
		}
	}
	return nil
}

// describe names a node's value for a message about its type.
func (n *node) describe() string {
	switch n.kind {
	case kindBool, kindInt, kindFloat:
		return n.text
	case kindText:
		return fmt.Sprintf("%q", clip(n.text))
	}
	return n.kind.String()
}

// clip shortens a value for a message.
func clip(s string) string {
	const longest = 60
	if utf8.RuneCountInString(s) <= longest {
		return s
	}
	return string([]rune(s)[:longest]) + "…"
}
