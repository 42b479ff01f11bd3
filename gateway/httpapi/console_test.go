package httpapi_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/chatkeep/chatkeep/gateway/httpapi"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/telemetry"
	"github.com/chatkeep/chatkeep/models"
)

func TestConsoleFiles(t *testing.T) {
	w := newWorld(t, options{stopped: true})
	get := func(path string, header map[string]string) *answer {
		t.Helper()
		return w.do(request{method: http.MethodGet, path: path, header: header})
	}
	page := get("/console/", nil).ok() // to anybody
	policy := page.header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "connect-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy lacks %s: %s", part, policy)
		}
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache", "Content-Type": "text/html; charset=utf-8"} {
		if got := page.header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	get("/console/", map[string]string{"If-None-Match": page.header.Get("ETag")}).want(http.StatusNotModified, "")
	if got := get("/console/main.js", nil).ok(); got.header.Get("Content-Type") != "text/javascript; charset=utf-8" || got.header.Get("ETag") == page.header.Get("ETag") {
		t.Errorf("%v", got.header)
	}
	get("/console/views/sessions.js", nil).ok()
	for _, path := range []string{"nothing.js", "views/nothing.js", "views", "views/", "..%2Fconsole.go", "%2e%2e/console.go", "console.go"} {
		get("/console/"+path, nil).want(http.StatusNotFound, models.CodeNotFound)
	}
	w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if to := get("/console", nil).want(http.StatusMovedPermanently, "").header.Get("Location"); to != "console/" {
		t.Errorf("redirected to %q", to)
	}
}

func TestConsoleIsWhereTheAdminAPIIs(t *testing.T) {
	api := httpapi.New(httpapi.Config{}, httpapi.Deps{Metrics: telemetry.New("test", clock.Real())}, clock.Real(), slog.New(slog.DiscardHandler))
	for name, c := range map[string]struct {
		handler http.Handler
		want    int
	}{"public": {api.Public(), http.StatusNotFound}, "admin": {api.Admin(), http.StatusOK}} {
		w := httptest.NewRecorder()
		c.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/console/", nil))
		if w.Code != c.want {
			t.Errorf("%s: status %d, want %d", name, w.Code, c.want)
		}
	}
}

// TestConsole does in a browser what operators do.
func TestConsole(t *testing.T) {
	o := newOperated(t)
	b := newTab(t, o.url)

	b.do(chromedp.Navigate(b.url))
	b.sees("Admin token")
	b.fits("login")
	b.picture("login")
	b.do(chromedp.SendKeys(chromedp.CSS("input[name=token]"), "wrong"+kb.Enter))
	b.sees("the admin token is needed")
	b.sees("unauthorized · request ")
	b.do(chromedp.SendKeys(chromedp.CSS("input[name=token]"), adminToken+kb.Enter))
	b.sees("Needs attention")
	b.settled()
	b.clean("401") // the browser itself notes these answers
	if stored := evaluate[string](b, `sessionStorage.getItem("chatkeep.token") + localStorage.length`); stored != adminToken+"0" {
		t.Errorf("stored: %s", stored)
	}

	o.toolResult()
	sessionView := "session?key=" + url.QueryEscape(o.key)
	for _, c := range []struct {
		name string
		does func()
	}{
		{"views", func() { o.seeEverything(b) }},
		{"decisions", func() { o.decide(b) }},
		{"session", func() { o.operateSession(b, sessionView) }},
		{"long", func() { o.readLong(b) }},
		{"slots", func() { o.operateSlots(b, sessionView) }},
		{"memory", func() { o.operateMemory(b, sessionView) }},
		{"queues", func() { o.operateQueues(b) }},
		{"tasks", func() { o.operateTasks(b) }},
		{"live", func() { o.watchLive(b) }},
		{"late", func() { o.comeLate(b) }},
		{"proxy", func() { o.comeThroughProxy(b) }},
		{"end", func() { o.endSession(b, sessionView) }},
	} {
		if !t.Run(c.name, func(t *testing.T) { b.t, o.t = t, t; c.does(); b.clean() }) {
			break
		}
	}
	b.t, o.t = t, t
}

// TestConsoleWithoutToken needs none from this machine.
func TestConsoleWithoutToken(t *testing.T) {
	w := newWorld(t, options{http: func(c *httpapi.Config) { c.AdminToken = "" }})
	b := newTab(t, w.url)
	b.do(chromedp.Navigate(b.url))
	b.sees("The storage is in memory")
	b.settled()
	b.press("Refresh")
	b.settled()
	b.clean()
	if slices.Contains(evaluate[[]string](b, `[...document.querySelectorAll("button")].map((n) => n.textContent)`), "Log out") {
		t.Error("there is nothing to log out of")
	}
}
