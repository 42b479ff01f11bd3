package httpapi_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// What is to be tried out is done by nothing that has no dry run.
func TestDryRunOfWhatHasNone(t *testing.T) {
	w := newWorld(t, options{})
	path := w.chat(obj{"userId": "lin", "text": "hello"}).ok().session()
	parameter := regexp.MustCompile(`\{[^/]+\}`)
	refused, tried := 0, 0
	for _, op := range w.doc.operations {
		if op.method == http.MethodGet || !strings.HasPrefix(op.path, "/admin/v1/") {
			continue
		}
		item := w.doc.root["paths"].(map[string]any)[op.path].(map[string]any)[strings.ToLower(op.method)].(map[string]any)
		has := false
		parameters, _ := item["parameters"].([]any)
		for _, p := range parameters {
			has = has || p.(map[string]any)["$ref"] == "#/components/parameters/DryRun"
		}
		at := strings.Replace(strings.TrimPrefix(op.path, "/admin/v1"), "/sessions/{key}", path, 1)
		a := w.admin(op.method, parameter.ReplaceAllString(at, "x")+"?dryRun=true", nil)
		if no := a.status == http.StatusBadRequest && strings.Contains(string(a.body), "it has no dryRun"); no == has {
			t.Errorf("%s %s: %d %s", op.method, op.path, a.status, a.body)
		}
		if has {
			tried++
		} else {
			refused++
		}
	}
	if tried < 9 || refused < 20 {
		t.Errorf("%d were tried out, %d refused", tried, refused)
	}
	same(t, "history", w.holds(path, "default"), "hello", "hello")
}
