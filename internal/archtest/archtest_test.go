package archtest

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

func TestCodeBase(t *testing.T) {
	found, err := Check(root, Chatkeep())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Error(v)
	}
}

// The fixtures under testdata/bad break every rule, and testdata/good comes as
// close as is allowed. A line says what is wrong with it: // want rule.
func TestFixtures(t *testing.T) {
	for _, dir := range []string{"testdata/bad", "testdata/good"} {
		rules := Chatkeep()
		rules.LongFiles["store/long_allowed.go"] = "a fixture"
		rules.UntypedMaps["models.Allowed"] = "a fixture"
		rules.MaxLines = 40
		found, err := Check(dir, rules)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range found {
			got = append(got, fmt.Sprintf("%s:%d: %s", v.File, v.Line, v.Rule))
		}
		want := wanted(t, dir)
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%s: not found: %s", dir, w)
			}
		}
		for _, g := range got {
			if !slices.Contains(want, g) {
				t.Errorf("%s: found wrongly: %s", dir, g)
			}
		}
		if (len(want) == 0) != (dir == "testdata/good") {
			t.Errorf("%s: %d violations are expected", dir, len(want))
		}
	}
}

// Every rule has a fixture that breaks it.
func TestFixturesCoverEveryRule(t *testing.T) {
	want := strings.Join(wanted(t, "testdata/bad"), "\n") + "\n"
	for _, rule := range []string{
		"layer", "library", "banned", "method", "testing", "doc", "name", "init", "untyped", "length",
	} {
		if !strings.Contains(want, ": "+rule+"\n") {
			t.Errorf("no fixture breaks the rule %s", rule)
		}
	}
}

func TestExceptionsAreOfUse(t *testing.T) {
	rules := Chatkeep()
	for path, reason := range rules.LongFiles {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil || reason == "" {
			t.Errorf("the exception for %s (%q) is stale: %v", path, reason, err)
		}
	}
}

func wanted(t *testing.T, root string) (want []string) {
	t.Helper()
	tree, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range tree.files {
		f, err := os.Open(filepath.Join(root, file.path))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		for n := 1; lines.Scan(); n++ {
			if _, rules, ok := strings.Cut(lines.Text(), "// want "); ok {
				for rule := range strings.FieldsSeq(rules) {
					want = append(want, fmt.Sprintf("%s:%d: %s", file.path, n, rule))
				}
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	return want
}
