package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/gateway/httpapi"
	"github.com/chatkeep/chatkeep/models"
)

const importPath = "/sessions/import"

// An export is taken back as it is, whatever it is said to be.
func TestImport(t *testing.T) {
	w := newWorld(t, options{})
	key := w.chat(obj{"userId": "lin", "text": "remember the milk"}).ok().str("sessionKey")
	export := func() string {
		return string(w.admin(http.MethodGet, session(key)+"/export", nil).ok().body)
	}
	whole := export()
	w.admin(http.MethodPost, importPath, whole).want(http.StatusConflict, models.CodeConflict)
	for _, contentType := range []string{"application/x-ndjson", "application/json", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""} {
		w.admin(http.MethodDelete, session(key), nil).ok()
		got := w.do(request{method: http.MethodPost, path: "/admin/v1" + importPath, body: whole, token: adminToken, header: map[string]string{"Content-Type": contentType}})
		if got.status != http.StatusCreated || got.str("key") != key || got.str("state") != "active" {
			t.Fatalf("%q: %d: %s", contentType, got.status, got.body)
		}
		if again := export(); again != whole {
			t.Errorf("it is now\n%s, was\n%s", again, whole)
		}
	}
	if got := w.chat(obj{"userId": "lin", "text": "and the tea"}).ok().str("sessionKey"); got != key {
		t.Errorf("the session is %s now", got)
	}
}

func TestImportRefuses(t *testing.T) {
	w := newWorld(t, options{})
	key := w.chat(obj{"userId": "lin", "text": "remember the milk"}).ok().str("sessionKey")
	whole := string(w.admin(http.MethodGet, session(key)+"/export", nil).ok().body)
	w.admin(http.MethodDelete, session(key), nil).ok()
	for name, c := range map[string]struct{ document, says string }{
		"nothing":  {"", "line 0: "},
		"no JSON":  {"hello", "line 1: "},
		"bad role": {strings.Replace(whole, `"role":"user"`, `"role":"boss"`, 1), "line 4: message"},
		"cut off":  {whole[:len(whole)/2], "line "},
		"far seq":  {strings.Replace(whole, `"nextSeq":3`, `"nextSeq":9223372036854775806`, 1), "line 3: slot"},
		"twice":    {strings.Replace(whole, `"role":"user"`, `"role":"user","role":"user"`, 1), "line 4: the key"},
	} {
		got := w.admin(http.MethodPost, importPath, c.document).want(http.StatusBadRequest, models.CodeInvalidRequest)
		if message, _ := got.get("error", "message").(string); !strings.HasPrefix(message, c.says) {
			t.Errorf("%s: %q", name, message)
		}
		w.admin(http.MethodGet, session(key), nil).want(http.StatusNotFound, models.CodeSessionNotFound)
	}
	w.admin(http.MethodPost, importPath, strings.Repeat("x", 64<<20+1)).want(http.StatusRequestEntityTooLarge, models.CodeTooLarge)
	w.do(request{method: http.MethodPost, path: "/admin/v1" + importPath, body: whole, token: "work-token"}).want(http.StatusUnauthorized, models.CodeUnauthorized)
}

// A document may be larger than any other body.
func TestImportIsStreamed(t *testing.T) {
	w := newWorld(t, options{http: func(c *httpapi.Config) { c.MaxBody = 64 << 10 }})
	key := w.chat(obj{"userId": "lin", "text": "hello"}).ok().str("sessionKey")
	whole := string(w.admin(http.MethodGet, session(key)+"/export", nil).ok().body)
	w.admin(http.MethodDelete, session(key), nil).ok()
	const n, size = 24, 1 << 20
	long := strings.Repeat("x", size)
	lines := strings.SplitAfter(strings.Replace(whole, `"nextSeq":3`, `"nextSeq":1000`, 1), "\n")
	r, pipe := io.Pipe()
	go func() { // in pieces, so that no length is known before
		_, _ = io.WriteString(pipe, strings.Join(lines[:5], ""))
		for i := range n {
			m := strings.Replace(strings.Replace(lines[4], `"seq":2`, fmt.Sprintf(`"seq":%d`, i+3), 1), `"content":"hello"`, `"content":"`+long+`"`, 1)
			_, _ = io.WriteString(pipe, m)
		}
		_, _ = fmt.Fprintf(pipe, `{"end":{"slots":1,"messages":%d}}`, n+2)
		_ = pipe.Close()
	}()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/admin/v1"+importPath, r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	res, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusCreated || !strings.Contains(string(body), fmt.Sprintf(`"messageCount":%d,`, n+2)) {
		t.Errorf("%d: %.300s, %v", res.StatusCode, body, err)
	}
}

// Without a token only this machine may import, but of any type.
func TestImportWithoutToken(t *testing.T) {
	w := newWorld(t, options{http: func(c *httpapi.Config) { c.AdminToken = "" }})
	for _, c := range []struct {
		header map[string]string
		status int
	}{
		{map[string]string{"Content-Type": "text/plain"}, http.StatusBadRequest},
		{map[string]string{"Content-Type": "text/plain", "Origin": "https://evil.test"}, http.StatusUnauthorized},
		{map[string]string{"Content-Type": "text/plain", "Sec-Fetch-Site": "cross-site"}, http.StatusUnauthorized},
		{map[string]string{"X-Forwarded-For": "1.2.3.4"}, http.StatusUnauthorized},
	} {
		if got := w.do(request{method: http.MethodPost, path: "/admin/v1" + importPath, body: "hello", header: c.header}); got.status != c.status {
			t.Errorf("%v: %d: %s", c.header, got.status, got.body)
		}
	}
}
