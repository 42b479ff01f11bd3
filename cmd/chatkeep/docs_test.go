package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/config"
)

// skipMark stands on the line before an example that is only part of a
// configuration, or a document of something else.
var skipMark = regexp.MustCompile(`^<!-- (fragment|not a configuration)(: .*)? -->$`)

// example is one fenced YAML or JSON block of a document.
type example struct {
	line int // of the fence, from 1
	text string
}

// examples returns the blocks of a document that have to be configurations.
func examples(document string) []example {
	var found []example
	var fence, before string
	var open *example
	for i, line := range strings.Split(document, "\n") {
		text := strings.TrimSpace(line)
		switch ticks := text[:len(text)-len(strings.TrimLeft(text, "`"))]; {
		case fence == "" && len(ticks) >= 3:
			fence = ticks
			switch strings.ToLower(strings.TrimSpace(text[len(ticks):])) {
			case "yaml", "yml", "json":
				if !skipMark.MatchString(before) {
					open = &example{line: i + 1}
				}
			}
		case fence != "" && text == fence:
			if open != nil {
				found = append(found, *open)
			}
			fence, open = "", nil
		case open != nil:
			open.text += line + "\n"
		}
		if text != "" {
			before = text
		}
	}
	return found
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// load reads an example as the program would, its variables set.
func (e example) load(name string) error {
	var env []string
	for _, v := range variable.FindAllStringSubmatch(e.text, -1) {
		env = append(env, v[1]+"=example")
	}
	_, err := config.Parse(name, []byte(e.text), env)
	return err
}

// Every configuration that the documents show can be used as it is.
func TestExamplesLoad(t *testing.T) {
	var documents []string
	for _, pattern := range []string{"README*.md", "docs/*.md"} {
		some, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, some...)
	}
	for _, name := range documents {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range examples(string(text)) {
			if err := e.load(name); err != nil {
				t.Errorf("%s:%d: %v", name, e.line, err)
			}
		}
	}
}

func TestExamples(t *testing.T) {
	document := strings.Join([]string{
		"```yaml", "log: {level: debug}", "```", "", "<!-- fragment -->", "", "```yaml", "level: debug", "```",
		"<!-- not a configuration: an answer -->", "```json", "{}", "```", "```sh", "```", "````json", `{"servr": 1}`, "```", "````",
	}, "\n")
	got := examples(document)
	if len(got) != 2 || got[0].line != 1 || got[1].line != 16 {
		t.Fatalf("%+v", got)
	}
	if err := got[0].load("d"); err != nil {
		t.Error(err)
	}
	if err := got[1].load("d"); err == nil {
		t.Error("an unknown key is accepted")
	}
}
