package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/chatkeep/chatkeep/gateway/httpapi"
	"github.com/chatkeep/chatkeep/models"
)

func TestTokens(t *testing.T) {
	hello := obj{"userId": "lin", "text": "hi"}
	type door struct {
		method, path string
		body         any
	}
	api := []door{
		{http.MethodPost, "/v1/chat", hello},
		{http.MethodGet, "/v1/models", nil},
		{http.MethodPost, "/v1/chat/completions", obj{"model": "assistant", "messages": []obj{{"role": "user", "content": "hi"}}}},
	}
	admin := []door{{http.MethodGet, "/admin/v1/sessions", nil}, {http.MethodGet, "/admin/v1/config", nil}, {http.MethodGet, "/admin/v1/inbound", nil}}
	w := newWorld(t, options{})
	locked := newWorld(t, options{http: func(c *httpapi.Config) { c.Accounts = c.Accounts[1:] }})
	open := newWorld(t, options{http: func(c *httpapi.Config) { c.Accounts, c.AdminToken = c.Accounts[:1], "" }})
	for _, c := range []struct {
		name  string
		w     *world
		doors []door
		token string
		want  int
	}{
		{"an account's token", w, api, teamToken, 200},
		{"an account's second token", w, api, "second", 200},
		{"no token, an open account", w, api, "", 200},
		{"a wrong token", w, api, "wrong", 401},
		{"the admin's token", w, api, adminToken, 401},
		{"no token, no open account", locked, api, "", 401},
		{"any token where there are none", open, api, "sk-anything", 200},
		{"the admin's token for admin", w, admin, adminToken, 200},
		{"no token for admin", w, admin, "", 401},
		{"an account's token for admin", w, admin, teamToken, 401},
		{"no token where admin has none", open, admin, "", 200},
		{"some token where admin has none", open, admin, "wrong", 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, d := range c.doors {
				a := c.w.do(request{method: d.method, path: d.path, body: d.body, token: c.token})
				if c.want == http.StatusUnauthorized {
					a.want(c.want, models.CodeUnauthorized)
					if a.header.Get("WWW-Authenticate") == "" {
						t.Error("no WWW-Authenticate")
					}
				} else {
					a.want(c.want, "")
				}
			}
		})
	}
	w.do(request{method: http.MethodGet, path: "/v1/models", header: map[string]string{"Authorization": "Basic bGluOmxpbg=="}}).want(401, models.CodeUnauthorized)
	w.do(request{method: http.MethodGet, path: "/v1/models", header: map[string]string{"Authorization": "Bearer "}}).want(401, models.CodeUnauthorized)
}

// TestLoopbackWithoutToken is about requests that reach this machine, but do not
// come from a person or program on it.
func TestLoopbackWithoutToken(t *testing.T) {
	w := newWorld(t, options{http: func(c *httpapi.Config) { c.AdminToken = "" }})
	for _, c := range []struct {
		name   string
		host   string
		header map[string]string
		want   int
	}{
		{name: "plain", want: 200},
		{name: "localhost", host: "localhost:1234", want: 200},
		{name: "IPv6", host: "[::1]:8080", want: 200},
		{name: "JSON with a charset", header: map[string]string{"Content-Type": "application/json; charset=utf-8"}, want: 200},
		{name: "own origin", header: map[string]string{"Origin": w.url}, want: 200},
		{name: "rebound name", host: "evil.example", want: 401},
		{name: "name that looks like it", host: "127.0.0.1.evil.example", want: 401},
		{name: "foreign origin", header: map[string]string{"Origin": "https://evil.example"}, want: 401},
		{name: "opaque origin", header: map[string]string{"Origin": "null"}, want: 401},
		{name: "another port's origin", header: map[string]string{"Origin": "http://127.0.0.1:1"}, want: 401},
		{name: "cross-site", header: map[string]string{"Sec-Fetch-Site": "cross-site"}, want: 401},
		{name: "forwarded", header: map[string]string{"X-Forwarded-For": "127.0.0.1"}, want: 401},
		{name: "forwarded, new form", header: map[string]string{"Forwarded": "for=127.0.0.1"}, want: 401},
		{name: "forwarded, empty", header: map[string]string{"X-Forwarded-Proto": ""}, want: 401},
		{name: "real ip", header: map[string]string{"X-Real-IP": "10.0.0.1"}, want: 401},
		{name: "form", header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, want: 401},
		{name: "text", header: map[string]string{"Content-Type": "text/plain"}, want: 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			code := models.ErrorCode("")
			if c.want == 401 {
				code = models.CodeUnauthorized
			}
			w.do(request{method: http.MethodPost, path: "/v1/chat", body: obj{"userId": "lin", "text": "hi"}, host: c.host, header: c.header}).want(c.want, code)
			if c.header["Content-Type"] == "" {
				w.do(request{method: http.MethodGet, path: "/admin/v1/stats", host: c.host, header: c.header}).want(c.want, code)
			}
			// With a token none of that matters.
			w.do(request{method: http.MethodPost, path: "/v1/chat", body: obj{"userId": "lin", "text": "hi"}, host: c.host, header: c.header, token: teamToken}).ok()
		})
	}
}

// A plan file is raw text: its type is no sign of a web page, everything else is.
func TestPlanFileWithoutToken(t *testing.T) {
	w := newWorld(t, options{http: func(c *httpapi.Config) { c.AdminToken = "" }})
	path := "/admin/v1" + w.chat(obj{"userId": "lin", "text": "hi"}).ok().session() + "/files/PLAN.md"
	put := func(host string, header map[string]string) *answer {
		return w.do(request{method: http.MethodPut, path: path, body: "# Plan", host: host, header: header})
	}
	for _, kind := range []string{"text/plain", "text/markdown; charset=utf-8", "application/x-www-form-urlencoded"} {
		put("", map[string]string{"Content-Type": kind}).ok()
	}
	for name, value := range map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "X-Forwarded-For": "127.0.0.1"} {
		put("", map[string]string{"Content-Type": "text/plain", name: value}).want(http.StatusUnauthorized, models.CodeUnauthorized)
	}
	put("evil.example", map[string]string{"Content-Type": "text/plain"}).want(http.StatusUnauthorized, models.CodeUnauthorized)
}

func TestMetricsAreOpenToThisMachine(t *testing.T) {
	w := newWorld(t, options{})
	w.do(request{method: http.MethodGet, path: "/metrics"}).ok()
	w.do(request{method: http.MethodGet, path: "/metrics", token: adminToken}).ok()
	w.do(request{method: http.MethodGet, path: "/metrics", token: teamToken}).want(401, models.CodeUnauthorized)
	w.do(request{method: http.MethodGet, path: "/metrics", host: "gateway.example"}).want(401, models.CodeUnauthorized)
	w.do(request{method: http.MethodGet, path: "/metrics", host: "gateway.example", token: adminToken}).ok()
}
