package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Validate checks every rule and returns all problems as [Errors], without the
// places they were written at, which only [Load] knows.
func (c *Config) Validate() error { return c.problems().err() }

func (c *Config) problems() Errors {
	k := checker{config: c}
	k.values()
	k.zone("timezone", c.Timezone)
	k.server()
	k.storage()
	k.agents()
	k.mcpServers()
	k.commands()
	k.channels()
	k.identities()
	k.session()
	k.lifecycle()
	k.tasks()
	k.limits()
	k.operation()
	return k.problems
}

// checker collects what is wrong with a configuration.
type checker struct {
	config   *Config
	problems Errors
}

func (k *checker) fail(path, format string, args ...any) {
	k.problems.add(Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// enum is a string type with a closed set of values.
type enum interface{ values() []string }

// values checks what holds for every value by its type: the words of closed
// sets, and that no number, size or duration is negative.
func (k *checker) values() {
	walk("", reflect.ValueOf(k.config).Elem(), func(path string, v reflect.Value) {
		if e, ok := reflect.TypeAssert[enum](v); ok {
			if word := v.String(); !slices.Contains(e.values(), word) {
				k.fail(path, "%s", wrongWord(word, e.values()))
			}
			return
		}
		switch v.Kind() {
		case reflect.Int, reflect.Int64:
			if v.Int() < 0 {
				k.fail(path, "must not be negative")
			}
		case reflect.Float64:
			if v.Float() < 0 {
				k.fail(path, "must not be negative")
			}
		}
	})
}

func wrongWord(word string, words []string) string {
	all := strings.Join(words, ", ")
	if word == "" {
		return "is missing: choose one of " + all
	}
	if s := nearest(word, words); s != "" {
		return fmt.Sprintf("must be one of %s, not %q: did you mean %q?", all, clip(word), s)
	}
	return fmt.Sprintf("must be one of %s, not %q", all, clip(word))
}

var ownName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// names checks names of our own (agents, accounts, slots, tasks) and that none
// is given twice.
type names map[string]string // name → path of its first use

func (k *checker) name(seen names, path, name string) {
	switch first := seen[name]; {
	case name == "":
		k.fail(path, "is missing: give it a name")
	case !ownName.MatchString(name):
		k.fail(path, "must be 1 to 64 letters, digits, dots, underscores or hyphens, not %q", clip(name))
	case first != "":
		k.fail(path, "%q is already the name at %s: choose another", name, first)
	default:
		seen[name] = path
	}
}

// foreignID checks an id that a platform gave.
func (k *checker) foreignID(path, id string) {
	switch {
	case strings.TrimSpace(id) == "":
		k.fail(path, "is empty: write the id, or remove the entry")
	case len(id) > 256:
		k.fail(path, "is longer than 256 bytes: no id is")
	}
}

// agent checks a reference to an agent.
func (k *checker) agent(path, id string) {
	var ids []string
	for _, a := range k.config.Agents {
		if a.ID != "" && !slices.Contains(ids, a.ID) {
			ids = append(ids, a.ID)
		}
	}
	switch {
	case len(ids) == 0: // which is a problem of its own
	case id == "":
		k.fail(path, "is missing: name an agent")
	case !slices.Contains(ids, id):
		k.fail(path, "no agent %q: %s", clip(id), didYouMean(id, ids))
	}
}

func (k *checker) required(path, value, what string) bool {
	if strings.TrimSpace(value) == "" {
		k.fail(path, "is missing: %s", what)
		return false
	}
	return true
}

func (k *checker) zone(path, name string) {
	if name == "" {
		k.fail(path, "is missing: write an IANA name such as Asia/Shanghai, or Local")
		return
	}
	if _, err := time.LoadLocation(name); err != nil {
		k.fail(path, "no time zone %q: write an IANA name such as Asia/Shanghai, or Local", clip(name))
	}
}

func hasControl(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }
