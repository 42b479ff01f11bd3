package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// Whatever a file holds, Parse answers with a valid configuration or with
// problems of one line each.
func FuzzParse(f *testing.F) {
	f.Add([]byte(Reference()), true)
	f.Add([]byte(acceptedUnchanged), false)
	for _, pattern := range []string{"testdata/*.yaml", "testdata/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(content, strings.HasSuffix(file, ".yaml"))
		}
	}
	for _, document := range []string{
		"a: &a [*a]", "<<: {server: {}}", "<<: [{a: 1}]", "? a\n: b", "!!str 1: 2", "server: !!map {}", "a: !!str", "tasks: [{schedule: 'TZ=0', id: a}]",
		"x: |\n  a\n y: >-\n  b", "identities: {'[\"': [api/a/b]}", "server: {listen: ${N}}", "agents:\n- &x\n- *x", "{\"a\":\"\\ud800\"}",
	} {
		f.Add([]byte(document), true)
	}
	env := []string{"N=1", "DEEPSEEK_API_KEY=k"}
	f.Fuzz(func(t *testing.T, document []byte, asYAML bool) {
		name := "x.json"
		if asYAML {
			name = "x.yaml"
		}
		c, err := Parse(name, document, env)
		if err == nil {
			if err := c.Validate(); err != nil {
				t.Fatalf("what was loaded is not valid: %v", err)
			}
			if _, err := c.YAML(); err != nil {
				t.Fatalf("what was loaded cannot be printed: %v", err)
			}
			return
		}
		var problems Errors
		if !errors.As(err, &problems) || len(problems) == 0 {
			t.Fatalf("error is %T %v", err, err)
		}
		for _, p := range problems {
			if p.Message == "" || strings.ContainsFunc(p.String(), unicode.IsControl) {
				t.Fatalf("problem is not one line: %q", p.String())
			}
		}
	})
}

func FuzzSchedule(f *testing.F) {
	for _, spec := range []string{"0 9 * * 1-5", "@every 1h", "TZ=", "CRON_TZ=UTC * * * * *", "0 0 30 2 *", "*/0 * * * *", "@daily"} {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		if err := checkSchedule(spec); err == nil && strings.Contains(spec, "TZ=") {
			t.Fatalf("%q sets a zone", spec)
		}
	})
}
