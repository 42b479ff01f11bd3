package text

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// verb is what [Say] puts an argument in place of.
var verb = regexp.MustCompile(`%[-+# 0-9.]*[a-zA-Z%]`)

func verbs(format string) (out []string) {
	for _, v := range verb.FindAllString(format, -1) {
		if v != "%%" {
			out = append(out, v)
		}
	}
	return out
}

func TestEverySentenceHasBothLanguagesWithTheSameVerbs(t *testing.T) {
	for id, s := range sentences {
		if strings.TrimSpace(s.en) == "" || strings.TrimSpace(s.zh) == "" {
			t.Errorf("%s: a language is missing", id)
		}
		if en, zh := verbs(s.en), verbs(s.zh); !slices.Equal(en, zh) {
			t.Errorf("%s: verbs differ: %v and %v", id, en, zh)
		}
		if strings.ContainsFunc(s.en, han) {
			t.Errorf("%s: the English one is Chinese: %s", id, s.en)
		}
		words := strings.ContainsFunc(verb.ReplaceAllString(s.en, ""), unicode.IsLetter)
		if words && !strings.ContainsFunc(s.zh, han) {
			t.Errorf("%s: the Chinese one is not Chinese: %s", id, s.zh)
		}
		if strings.Count(s.en, "`") != strings.Count(s.zh, "`") {
			t.Errorf("%s: what is set as code differs", id)
		}
	}
}

// Every name of a sentence has one, and is used somewhere.
func TestEverySentenceIsNamedAndUsed(t *testing.T) {
	names := map[string]ID{} // by constant
	file, err := parser.ParseFile(token.NewFileSet(), "sentences.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			names[v.Names[0].Name] = ID(strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`))
		}
	}
	if len(names) != len(sentences) {
		t.Errorf("%d names, %d sentences", len(names), len(sentences))
	}
	used := uses(t)
	for name, id := range names {
		if _, ok := sentences[id]; !ok {
			t.Errorf("%s has no sentence", name)
		}
		if !used[name] {
			t.Errorf("nobody says %s", name)
		}
	}
}

// uses returns what the program's files take from this package.
func uses(t *testing.T) map[string]bool {
	t.Helper()
	of := regexp.MustCompile(`\btext\.([A-Z][A-Za-z]*)`)
	used := map[string]bool{}
	for _, dir := range []string{"gateway", "cmd", "agents", "adapters"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, m := range of.FindAllSubmatch(source, -1) {
				used[string(m[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return used
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		setting, text string
		names         []string
		want          Lang
	}{
		{"auto", "hello", nil, English},
		{"auto", "你好", nil, Chinese},
		{"", "ask 李雷", nil, Chinese},
		{"en", "你好", nil, English},
		{"zh", "hello", nil, Chinese},
		{"auto", "", nil, English},
		{"auto", "hello", []string{"李雷"}, English},
		{"auto", "👍 123", []string{"李雷", "Team"}, Chinese},
		{"auto", "/help", []string{"Lin", "产品群"}, Chinese},
		{"auto", "/remember the milk", []string{"李雷"}, English},
		{"auto", "/remember 牛奶", nil, Chinese},
		{"auto", "/status", []string{"Lin"}, English},
	} {
		if got := Choose(c.setting, c.text, c.names...); got != c.want {
			t.Errorf("Choose(%q, %q, %q) = %s, want %s", c.setting, c.text, c.names, got, c.want)
		}
	}
}
