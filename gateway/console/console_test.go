package console_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/gateway/console"
)

// sources are the console's files by their paths.
func sources(t *testing.T) map[string]string {
	t.Helper()
	files, static := map[string]string{}, os.DirFS("static")
	err := fs.WalkDir(static, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(static, name)
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestServe(t *testing.T) {
	serve := func(name string) (bool, *httptest.ResponseRecorder) {
		w := httptest.NewRecorder()
		return console.Serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/console/"+name, nil), name), w
	}
	for name, text := range sources(t) {
		found, w := serve(name)
		if !found || w.Code != http.StatusOK || w.Body.String() != text || w.Header().Get("Content-Type") == "" {
			t.Errorf("%s: %d %s", name, w.Code, w.Header())
		}
	}
	for _, name := range []string{"none.js", "views", "views/", "../console.go", "/index.html", "."} {
		if found, w := serve(name); found || w.Body.Len() > 0 {
			t.Errorf("%q was found", name)
		}
	}
}

// TestSources: each module is imported by another or the page, and what is imported is there.
func TestSources(t *testing.T) {
	files := sources(t)
	used := map[string]bool{"index.html": true}
	refers := regexp.MustCompile(`(?:from|src=|href=) ?"(\.{0,2}[\w/.-]+\.(?:js|css|svg))"`)
	for name, text := range files {
		for _, m := range refers.FindAllStringSubmatch(text, -1) {
			to := path.Join(path.Dir(name), m[1])
			used[to] = true
			if _, has := files[to]; !has {
				t.Errorf("%s refers to %s, which is not there", name, to)
			}
		}
		for _, never := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "eval(", "style="} {
			if strings.Contains(text, never) {
				t.Errorf("%s contains %s", name, never)
			}
		}
		if lines := strings.Count(text, "\n"); lines > 200 && name != "chinese.js" {
			t.Errorf("%s has %d lines", name, lines)
		}
	}
	for name := range files {
		if !used[name] {
			t.Errorf("nothing refers to %s", name)
		}
	}
}

// TestChinese: each text has a translation with the same values in it, and no translation
// is left over.
func TestChinese(t *testing.T) {
	files := sources(t)
	dictionary, _, _ := strings.Cut(files["chinese.js"], "const words")
	translations := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^  "(.+?)": "(.+)",$`).FindAllStringSubmatch(dictionary, -1) {
		translations[m[1]] = m[2]
	}
	used := map[string]bool{}
	for name, text := range files {
		for _, m := range regexp.MustCompile(`\bt\("(.+?)"[,)]`).FindAllStringSubmatch(text, -1) {
			used[m[1]] = true
			if translations[m[1]] == "" {
				t.Errorf("%s: no Chinese for %q", name, m[1])
			}
		}
	}
	value := regexp.MustCompile(`\{\w+\}`)
	for english, chinese := range translations {
		if !used[english] {
			t.Errorf("nothing says %q", english)
		}
		for _, v := range value.FindAllString(english, -1) {
			if !strings.Contains(chinese, v) {
				t.Errorf("%q lacks %s", chinese, v)
			}
		}
	}
	if len(used) < 200 {
		t.Errorf("only %d texts were found", len(used))
	}
}
