package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/models"
)

func TestExport(t *testing.T) {
	w := newWorld(t, options{})
	a := w.chat(obj{"userId": "lin", "text": "remember the milk"}).ok()
	path := session(a.str("sessionKey")) + "/export"
	for format, want := range map[string][2]string{
		"":                 {"application/x-ndjson", `"format":"session"`},
		"?format=jsonl":    {"application/x-ndjson", `"end"`},
		"?format=markdown": {"text/markdown", "remember the milk"},
		"?format=html":     {"text/html", "<html"},
	} {
		got := w.admin(http.MethodGet, path+format, nil)
		if got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("Content-Type"), want[0]) || !strings.Contains(string(got.body), want[1]) {
			t.Errorf("%q: %d %s: %s", format, got.status, got.header.Get("Content-Type"), got.body)
		}
		if caching, policy := got.header.Get("Cache-Control"), got.header.Get("Content-Security-Policy"); caching != "no-store" || policy != "sandbox" {
			t.Errorf("%q: Cache-Control %q, Content-Security-Policy %q", format, caching, policy)
		}
	}
	w.admin(http.MethodGet, path+"?format=pdf", nil).want(http.StatusBadRequest, models.CodeInvalidRequest)
	w.admin(http.MethodGet, path+"?slot=none", nil).want(http.StatusNotFound, models.CodeSlotNotFound)
	w.admin(http.MethodGet, strings.Replace(path, "lin", "nobody", 1), nil).want(http.StatusNotFound, models.CodeSessionNotFound)
}
