package config

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// envPrefix begins every variable that sets a key.
const envPrefix = "CHATKEEP_"

// setting is a key that the environment can set: one value, or a list of
// values, inside nested groups. What is inside lists and maps is not.
type setting struct {
	path string
	typ  reflect.Type
	// index leads from Config to the field.
	index []int
}

// names are the two spellings of the setting's variable: each key in one word
// (CHATKEEP_SERVER_ADMINTOKEN) and in words (CHATKEEP_SERVER_ADMIN_TOKEN).
func (s setting) names() []string {
	steps := strings.Split(s.path, ".")
	words := make([]string, len(steps))
	for i, step := range steps {
		words[i] = snake(step)
	}
	joined := envPrefix + strings.ToUpper(strings.Join(steps, "_"))
	split := envPrefix + strings.ToUpper(strings.Join(words, "_"))
	if joined == split {
		return []string{joined}
	}
	return []string{joined, split}
}

func (s setting) in(c *Config) reflect.Value {
	return reflect.ValueOf(c).Elem().FieldByIndex(s.index)
}

// settings lists what the environment can set.
func settings() []setting {
	var all []setting
	var collect func(path string, t reflect.Type, index []int)
	collect = func(path string, t reflect.Type, index []int) {
		switch {
		case isLeaf(t), t.Kind() == reflect.Slice && isLeaf(t.Elem()):
			all = append(all, setting{path, t, index})
		case t.Kind() == reflect.Struct:
			for _, f := range fieldsOf(t) {
				collect(join(path, f.name), f.typ, append(slices.Clone(index), f.index...))
			}
		}
	}
	collect("", reflect.TypeFor[Config](), nil)
	return all
}

// snake writes a camelCase key in words: adminToken, admin_token.
func snake(key string) string {
	var b strings.Builder
	for i, r := range key {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// serviceLink matches the variables that Kubernetes and Docker make of the
// name of a neighbouring service, such as CHATKEEP_SERVER_SERVICE_HOST.
var serviceLink = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)?)$`)

// environment lays CHATKEEP_* over the configuration. An empty variable counts
// as not set. Values are taken as they are, ${NAME} included.
func (l *loader) environment() {
	all := settings()
	bySpelling := map[string]setting{}
	var spellings []string
	for _, s := range all {
		for _, name := range s.names() {
			bySpelling[name] = s
			spellings = append(spellings, name)
		}
	}

	given := map[string]string{} // path → variable that sets it
	for _, name := range l.env.names() {
		value := l.env[name]
		s, known := bySpelling[name]
		switch {
		case !known:
			l.unknownVariable(name, spellings)
		case value == "":
		case given[s.path] != "" && l.env[given[s.path]] != value:
			l.problem(name, s.path, "differs from "+given[s.path]+", which sets the same: keep one")
		default:
			given[s.path] = name
		}
	}
	for _, s := range all {
		if name := given[s.path]; name != "" {
			l.apply(all, s, name, given)
		}
	}
}

// apply sets one key. The file's other form of the same secret gives way.
func (l *loader) apply(all []setting, s setting, name string, given map[string]string) {
	if other, ok := siblingOf(all, s.path); ok {
		if given[other.path] != "" {
			if s.path < other.path {
				l.problem(name, s.path, "is given here and by "+given[other.path]+": keep one")
			}
			return
		}
		other.in(l.config).SetZero()
		delete(l.origins, other.path)
	}
	l.decoder(name).value(s.path, variable(l.env[name], s.typ), s.in(l.config))
}

// variable is the tree of a variable's value; lists are separated by commas.
func variable(value string, t reflect.Type) *node {
	if t.Kind() != reflect.Slice {
		return &node{kind: kindText, text: value, loose: true}
	}
	list := &node{kind: kindList}
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list.items = append(list.items, &node{kind: kindText, text: item, loose: true})
		}
	}
	return list
}

// unknownVariable reports a variable that begins with a section of the file
// and so was meant to set something.
func (l *loader) unknownVariable(name string, spellings []string) {
	for _, f := range fieldsOf(reflect.TypeFor[Config]()) {
		for _, section := range []string{f.name, snake(f.name)} {
			prefix := envPrefix + strings.ToUpper(section)
			if name != prefix && !strings.HasPrefix(name, prefix+"_") {
				continue
			}
			if serviceLink.MatchString(name) {
				return
			}
			if !slices.ContainsFunc(spellings, func(s string) bool { return strings.HasPrefix(s, prefix) }) {
				l.problem(name, f.name, "cannot be set from the environment: write it in the file, where ${NAME} takes a value from a variable")
				return
			}
			message := "sets no key: remove it"
			if s := nearest(name, spellings); s != "" {
				message = "sets no key: did you mean " + s + "?"
			}
			l.problem(name, "", message)
			return
		}
	}
}

// environ is an environment by name.
type environ map[string]string

func newEnviron(list []string) environ {
	env := make(environ, len(list))
	for _, item := range list {
		if name, value, ok := strings.Cut(item, "="); ok {
			env[name] = value
		}
	}
	return env
}

func (e environ) lookup(name string) (string, bool) {
	value, ok := e[name]
	return value, ok
}

// names lists the variables of this program in order.
func (e environ) names() []string {
	var names []string
	for name := range e {
		if strings.HasPrefix(name, envPrefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
