package config

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Every testdata/*.yaml and *.json is wrong; *.golden holds the whole error.
func TestGoldenErrors(t *testing.T) {
	var documents []string
	for _, pattern := range []string{"testdata/*.yaml", "testdata/*.json"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, found...)
	}
	if len(documents) < 5 {
		t.Fatalf("only %d documents", len(documents))
	}
	for _, document := range documents {
		t.Run(filepath.Base(document), func(t *testing.T) {
			_, err := Load(document, []string{"SET=1"})
			if err == nil {
				t.Fatal("accepted")
			}
			got := strings.ReplaceAll(err.Error(), "testdata/", "") + "\n"
			golden := document + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got:\n%swant:\n%s", got, want)
			}
		})
	}
}

func TestErrorsNeverRepeatSecrets(t *testing.T) {
	const canary = "c4n4ry"
	documents := []string{
		"server: {adminToken: [c4n4ry]}",
		"server: {adminToken: {c4n4ry: 1}}",
		"storage: {driver: mysql, dsn: 'root:c4n4ry(x@tcp/'}",
		"storage: {driver: mysql, dsn: 'root:c4n4ry(x'}",
		"storage: {driver: mysql, dsn: 'u:c4n4ry@tcp(h:1)/db?timeout=never'}",
		"agents: [{id: a, kind: openai, model: m, baseUrl: 'ftp://u:c4n4ry@h'}]",
		"agents: [{id: a, kind: openai, model: m, baseUrl: \"http://u:c4n4ry@h\\x01\"}]",
		"agents: [{id: a, kind: echo, secret: c4n4ry, headers: {'a b': c4n4ry}}]",
		"channels: {api: [{account: a, tokens: ['c4n4ry c4n4ry', c4n4ry, c4n4ry]}, {account: b, tokens: [c4n4ry]}]}",
		"tracing: {endpoint: 'c4n4ry'}",
		"server: {adminToken: '${SECRET'}",
	}
	for _, document := range documents {
		if text := refuse(t, document, "SECRET="+canary); strings.Contains(text, canary) {
			// A key that is unknown is quoted; only values are secret.
			t.Errorf("%s\nis answered by\n%s", document, text)
		}
	}
	numeric := refuse(t, "server: {adminToken: 918273645}")
	if strings.Contains(numeric, "918273645") {
		t.Errorf("a numeric secret is repeated: %s", numeric)
	}
}

func TestHostileDocuments(t *testing.T) {
	laughs := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 9; i++ {
		p, q := string(rune('0'+i-1)), string(rune('0'+i))
		laughs += "a" + q + ": &a" + q + " [*a" + p + strings.Repeat(",*a"+p, 8) + "]\n"
	}
	tests := []struct{ name, document, want string }{
		{"brackets", strings.Repeat("[", 100000), "nested too deeply"},
		{"braces", strings.Repeat("{a: ", 100000), "nested too deeply"},
		{"dashes", strings.Repeat("- ", 100000) + "a", "nested too deeply"},
		{"json depth", strings.Repeat(`{"a":`, 500) + "1" + strings.Repeat("}", 500), "nested too deeply"},
		{"laughs", laughs, "grows too large"},
		{"self alias", "a: &a [*a]", "not defined before"},
		{"nul", "a: \x00", "NUL"},
		{"utf-8", "a: \xff", "UTF-8"},
		{"two documents", "a: 1\n---\nb: 1\n", "more than one document"},
		{"a list", "- a", "needs a group of keys, not a list"},
		{"a word", "hello", "needs a group of keys, not text"},
		{"large", strings.Repeat("#", maxFileBytes+1), "larger than 1024 KiB"},
		{"tag", "timezone: !!binary YQ==", "remove it"},
		{"complex key", "? [a]\n: b\n", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if text := refuse(t, test.document); !strings.Contains(text, test.want) {
				t.Errorf("got %s, want %q in it", text, test.want)
			}
		})
	}
}
