package config

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode"
)

// Problem is one thing wrong with a configuration.
type Problem struct {
	// Source is the file or the environment variable it was found in, empty
	// when it is in neither.
	Source string
	// Line of the file, from 1; 0 when unknown.
	Line int
	// Path of the key, such as agents[0].baseUrl; empty for the whole file.
	Path string
	// Message says what to do, in one line and without any secret.
	Message string
}

// String formats as source:line: path: message, without what is unknown.
func (p Problem) String() string {
	var b strings.Builder
	if p.Source != "" {
		b.WriteString(p.Source)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d", p.Line)
		}
		b.WriteString(": ")
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Errors is every problem of a configuration, in order of source and line.
type Errors []Problem

// Error lists all problems, one per line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// err returns e as an error that is nil when there is nothing in it.
func (e Errors) err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

func (e *Errors) add(p Problem) {
	p.Message = oneLine(p.Message)
	*e = append(*e, p)
}

// oneLine shows control characters, which names of files and words of parsers
// may hold, as they would be written.
func oneLine(s string) string {
	if !strings.ContainsFunc(s, unicode.IsControl) {
		return s
	}
	return strings.Trim(strconv.Quote(s), `"`)
}

func (e Errors) sort() {
	sort.SliceStable(e, func(i, j int) bool {
		if e[i].Source != e[j].Source {
			return e[i].Source < e[j].Source
		}
		return e[i].Line < e[j].Line
	})
}
