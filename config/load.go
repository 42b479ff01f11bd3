package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Option changes a configuration after file and environment, before it is
// validated: the layer of command-line flags. It sets values, not their xFile
// forms.
type Option func(*Config)

// Load builds a configuration from the defaults, the file at path (none if
// empty), the environment (as os.Environ gives it) and options, and validates
// it. The error is [Errors] with every problem found.
func Load(path string, env []string, options ...Option) (*Config, error) {
	l := newLoader(env)
	if path != "" {
		content, err := readFile(path, maxFileBytes)
		if err != nil {
			return nil, Errors{{Message: oneLine(err.Error())}}
		}
		if err := l.file(path, content); err != nil {
			return nil, err
		}
	}
	return l.finish(options)
}

// Parse is [Load] for content that is already read; name stands for its file
// in messages.
func Parse(name string, content []byte, env []string, options ...Option) (*Config, error) {
	l := newLoader(env)
	if err := l.file(name, content); err != nil {
		return nil, err
	}
	return l.finish(options)
}

// loader puts the layers of one configuration together.
type loader struct {
	config   *Config
	env      environ
	problems Errors
	origins  map[string]origin
	suspect  map[string]bool
}

func newLoader(env []string) *loader {
	return &loader{
		config:  Default(),
		env:     newEnviron(env),
		origins: map[string]origin{},
		suspect: map[string]bool{},
	}
}

func (l *loader) decoder(source string) *decoder {
	return &decoder{source: source, problems: &l.problems, origins: l.origins, suspect: l.suspect}
}

// file lays a file over the defaults. A file that cannot be read as a whole is
// the only problem reported.
func (l *loader) file(name string, content []byte) error {
	if len(content) > maxFileBytes {
		return Errors{{Source: name, Message: fmt.Sprintf("is larger than %d KiB: name the right file", maxFileBytes>>10)}}
	}
	root, err := parse(name, content)
	if err != nil {
		p := Problem{Source: name, Message: oneLine(err.Error())}
		if syntax, ok := errors.AsType[*syntaxError](err); ok {
			p.Line = syntax.line
		}
		return Errors{p}
	}
	d := l.decoder(name)
	e := expander{lookup: l.env.lookup, done: map[*node]bool{}, problem: func(path string, line int, message string) {
		d.problem(path, line, "%s", message)
	}}
	e.expand("", root)
	for _, entry := range root.entries {
		if entry.key == "channels" && entry.value.kind == kindMap {
			// The built-in account goes with the first channel that is named.
			l.config.Channels = Channels{Feishu: []FeishuChannel{}, DingTalk: []DingTalkChannel{}, API: []APIAccount{}}
		}
	}
	d.value("", root, reflect.ValueOf(l.config).Elem())
	l.resetImplicit()
	return nil
}

// resetImplicit lets the built-in account follow the file's agents.
func (l *loader) resetImplicit() {
	if _, named := l.origins["channels"]; named {
		return
	}
	for i := range l.config.Channels.API {
		l.config.Channels.API[i].Agent = ""
	}
}

func (l *loader) finish(options []Option) (*Config, error) {
	l.environment()
	l.secretFiles()
	for _, option := range options {
		option(l.config)
	}
	l.config.fill()
	l.validate()
	if err := l.problems.err(); err != nil {
		l.problems.sort()
		return nil, err
	}
	return l.config, nil
}

// validate adds the problems of the whole, with the places they were written
// at, leaving out those that follow from a problem already found.
func (l *loader) validate() {
	for _, p := range l.config.problems() {
		if !l.follows(p.Path) {
			l.problemAt(p.Path, p.Message)
		}
	}
}

// follows tells whether a problem at path may come of one already reported: at
// the same key, at a group around it, or at a key in the group it is about.
func (l *loader) follows(path string) bool {
	for at := path; at != ""; at = parent(at) {
		if l.suspect[at] {
			return true
		}
	}
	for key := range l.suspect {
		if strings.HasPrefix(key, path+".") || strings.HasPrefix(key, path+"[") {
			return true
		}
	}
	return false
}

// problem reports something about a variable.
func (l *loader) problem(source, path, message string) {
	l.problems.add(Problem{Source: source, Path: path, Message: message})
}

// problemAt reports something about a key where it, or else the nearest group
// around it, was written.
func (l *loader) problemAt(path, message string) {
	p := Problem{Source: l.origins[""].source, Path: path, Message: message}
	for at := path; at != ""; at = parent(at) {
		if o, ok := l.origins[at]; ok {
			p.Source, p.Line = o.source, o.line
			break
		}
	}
	l.problems.add(p)
}
