package config

import (
	"fmt"
	"strings"
)

// expander replaces ${NAME} in the text of a tree. It works on decoded values,
// so that a variable's content is never read as YAML; keys are left alone.
type expander struct {
	lookup  func(name string) (string, bool)
	problem func(path string, line int, message string)
	// done keeps a node that several aliases share from being expanded twice.
	done map[*node]bool
}

func (e *expander) expand(path string, n *node) {
	if e.done[n] {
		return
	}
	e.done[n] = true
	switch n.kind {
	case kindText:
		text, replaced, err := e.text(n.text)
		if err != nil {
			e.problem(path, n.line, err.Error())
			n.bad = true
			return
		}
		n.text, n.loose = text, replaced
	case kindList:
		for i, item := range n.items {
			e.expand(at(path, i), item)
		}
	case kindMap:
		for _, entry := range n.entries {
			e.expand(join(path, entry.key), entry.value)
		}
	}
}

// text expands one value and tells whether a variable was in it.
func (e *expander) text(s string) (expanded string, replaced bool, err error) {
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), replaced, nil
		}
		if i > 0 && s[i-1] == '$' { // $${ is a literal ${
			b.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		name, rest, closed := strings.Cut(s[i+2:], "}")
		if !closed || !isVariableName(name) {
			return "", false, fmt.Errorf("${…} needs the name of an environment variable; write $${ for a literal ${")
		}
		value, ok := e.lookup(name)
		if !ok {
			return "", false, fmt.Errorf("environment variable %s is not set: set it, or write $${%s} if the text is meant", name, name)
		}
		b.WriteString(value)
		replaced, s = true, rest
	}
}

func isVariableName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
