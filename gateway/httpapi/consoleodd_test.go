package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/chatkeep/chatkeep/gateway/httpapi"
	"github.com/chatkeep/chatkeep/models"
)

// TestConsoleOddities: texts that are not what they look like, and answers that come when
// nobody waits for them any more.
func TestConsoleOddities(t *testing.T) {
	o := newOperated(t)
	b := newTab(t, o.url)
	b.do(chromedp.Navigate(b.url))
	b.fill("token", adminToken)
	b.press("Log in")
	b.sees("Needs attention")
	b.clean("401")
	for _, c := range []struct {
		name string
		does func()
	}{
		{"arguments", func() { o.approveWhatIsSent(b) }},
		{"numbers", func() { o.keepNumbers(b) }},
		{"names", func() { o.openOddNames(b) }},
		{"dialogs", func() { o.closeDialogsEarly(b) }},
		{"live", func() { o.loseLive(b) }},
		{"logins", func() { o.logInAgain(b) }},
	} {
		if !t.Run(c.name, func(t *testing.T) { b.t, o.t = t, t; c.does(); b.clean() }) {
			break
		}
	}
	b.t, o.t = t, t
}

// approveWhatIsSent shows who approves each value of a call, where it is decided as well.
func (o *operated) approveWhatIsSent(b *tab) {
	o.t.Helper()
	o.work(obj{"userId": "zhao", "text": "call oddly"}).ok()
	b.view("approvals")
	b.press("Approve", "A-1001")
	shown := evaluate[string](b, `document.querySelector("dialog[open]").innerText`)
	for _, want := range []string{"refund", `"amount": 12345678901234567890`, `"to": "lin\u202eytnuom"`, `"note": "退款"`} {
		if !strings.Contains(shown, want) {
			o.t.Errorf("%s is not in the dialog:\n%s", want, shown)
		}
	}
	b.picture("approve")
	b.press("Cancel")
}

func (o *operated) keepNumbers(b *tab) {
	o.t.Helper()
	const large = `{"id":12345678901234567890,"rate":1.0}`
	path := "/admin/v1" + o.path + "/variables/large"
	o.do(request{method: http.MethodPut, path: path, body: `{"value":` + large + `}`, token: adminToken}).ok()
	b.view("session?tab=variables&key=" + url.QueryEscape(o.key))
	b.sees("12345678901234567890")
	b.press("Change", "large")
	b.press("Save")
	b.said("Saved.")
	if got := o.do(request{method: http.MethodGet, path: path, token: adminToken}).ok(); !strings.Contains(string(got.body), large) {
		o.t.Errorf("what nobody changed became %s", got.body)
	}
	// A name that a browser takes for a step in the address.
	o.admin(http.MethodPut, o.path+"/variables/%2E%2E", obj{"value": 1}).ok()
	b.press("Refresh")
	b.press("Remove", "..")
	b.press("Remove")
	b.sees("A browser cannot ask for what is called")
	b.press("Cancel")
}

// openOddNames opens sessions of people whose ids are odd, none of which looks like another's.
func (o *operated) openOddNames(b *tab) {
	o.t.Helper()
	seen := map[string]string{}
	for i, user := range []string{"group/c1", "%2F", "a+b c", "x\u202egnp", "😀\u2028\u00ad", "tab\there\nand\x01", `?key=#&"'` + "`\\", "__proto__"} {
		text := fmt.Sprintf("said by odd person %d", i)
		key := o.chat(obj{"userId": user, "text": text}).ok().str("sessionKey")
		b.view("sessions?q=" + url.QueryEscape(key))
		b.wait("one session", `document.querySelectorAll("tbody tr").length === 1`)
		name := evaluate[string](b, `document.querySelector("tbody a").textContent`)
		evaluate[bool](b, `document.querySelector("tbody a").click() === undefined`)
		b.sees(text)
		b.view("inbound")
		b.wait("its message", `document.querySelector("tbody a").title === `+asJS(key))
		link := evaluate[string](b, `document.querySelector("tbody a").textContent`)
		for _, shown := range []string{name, link} {
			if other := seen[shown]; other != "" {
				o.t.Errorf("%q looks like %q: %q", user, other, shown)
			}
			seen[shown] = user
		}
	}
	group := o.chat(obj{"userId": "lin", "chatId": "c1", "text": "in a group"}).ok().str("sessionKey")
	b.view("sessions?q=" + url.QueryEscape(group))
	if name := evaluate[string](b, `document.querySelector("tbody a").textContent`); seen[name] != "" {
		o.t.Errorf("the group looks like the person %q: %q", seen[name], name)
	}
	// What turns the direction around does so within its own bounds.
	b.view("session?tab=variables&key=" + url.QueryEscape(o.key))
	o.admin(http.MethodPut, o.path+"/variables/"+url.PathEscape("x\u202egnp"), obj{"value": 1}).ok()
	b.press("Refresh")
	b.press("Remove", "gnp")
	if title := evaluate[string](b, `document.querySelector("dialog[open] h2").textContent`); title != "Remove the variable \u2068x\u202egnp\u2069?" {
		o.t.Errorf("the title is %q", title)
	}
	b.press("Cancel")
}

// asJS is a string literal: what JSON may hold, JavaScript may.
func asJS(s string) string { return "decodeURIComponent(\"" + url.PathEscape(s) + "\")" }

// closeDialogsEarly closes one while its answer is under way: its error is told all the same.
func (o *operated) closeDialogsEarly(b *tab) {
	o.t.Helper()
	b.view("tasks")
	b.press("New task")
	b.fill("id", "standup")
	b.fill("prompt", "again")
	release := b.hold("POST", "/tasks")
	b.press("Create")
	b.press("Cancel")
	release()
	b.said("there is a task with this id")
	// What is not shown does not keep a form from being sent.
	b.press("New task")
	b.fill("id", "plain")
	b.fill("prompt", "again")
	b.fill("deliver", "url")
	b.fill("url", "no URL")
	b.fill("deliver", "")
	b.press("Create")
	b.said("The task is scheduled.")
	b.clean("409")
}

// loseLive is told why events cannot be followed, and notices when nothing is heard any more.
func (o *operated) loseLive(b *tab) {
	o.t.Helper()
	evaluate[bool](b, `(() => {
		const plain = window.fetch;
		const wait = window.setTimeout;
		window.setTimeout = (act, ms) => wait(act, ms > 900 ? 5 : ms); // of the views: a second, and the time without a sign
		window.asked = 0;
		window.fetch = (url, options) => {
			if (!String(url).endsWith("/events")) return plain(url, options);
			window.asked += 1;
			if (window.full) return Promise.resolve(new Response('{"error":{"code":"rate_limited","message":"as many follow as may"}}', { status: 429 }));
			return Promise.resolve(new Response(new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode(": from now on\n\n")); } })));
		};
		window.restore = () => { window.fetch = plain; window.setTimeout = wait; };
		return true;
	})()`)
	b.view("live")
	b.wait("it asks again", `window.asked > 2`)
	evaluate[bool](b, `window.full = true`)
	b.sees("as many follow as may")
	evaluate[bool](b, `(window.full = false, true)`)
	b.sees("Connected.")
	evaluate[bool](b, `window.restore() === undefined`)
	b.view("agents")
}

// logInAgain loses the token while a dialog is open, and then again by an answer of before.
func (o *operated) logInAgain(b *tab) {
	o.t.Helper()
	lose := func() { evaluate[bool](b, `sessionStorage.setItem("chatkeep.token", "expired") === undefined`) }
	b.view("tasks")
	b.press("New task")
	b.fill("id", "late")
	b.fill("prompt", "late")
	lose()
	b.press("Create")
	b.sees("Admin token")
	b.wait("nothing lies above the login", `!document.querySelector("dialog") && document.activeElement.name === "token"`)
	b.fill("token", adminToken)
	b.press("Log in")
	b.settled()

	b.view("tasks")
	lose()
	release := b.hold("POST", "/pause")
	b.press("Pause", "standup")
	evaluate[bool](b, `Boolean(location.hash = "#/agents")`)
	b.sees("Admin token")
	b.fill("token", adminToken)
	b.press("Log in")
	b.sees("Context window")
	release()
	if shown := evaluate[string](b, `document.body.innerText`); !strings.Contains(shown, "Context window") {
		o.t.Errorf("an answer to somebody before took the login away: %s", shown)
	}
	b.clean("401")
}

// TestConsoleTellsWhyNoTokenHelps: there is none to be asked for.
func TestConsoleTellsWhyNoTokenHelps(t *testing.T) {
	w := newWorld(t, options{http: func(c *httpapi.Config) { c.AdminToken = "" }})
	w.do(request{method: http.MethodGet, path: "/admin/v1/stats", token: "any"}).want(http.StatusUnauthorized, models.CodeUnauthorized)
	to, err := url.Parse(w.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.SetXForwarded()
	}})
	defer proxy.Close()
	b := newTab(t, w.url)
	b.do(chromedp.Navigate(proxy.URL + "/console/"))
	b.sees("the request came through a proxy")
	b.fill("token", "any")
	b.press("Log in")
	b.sees("no admin token is configured")
	b.clean("401")
}

// TestConsoleWithoutStorage works in a browser that keeps nothing for pages.
func TestConsoleWithoutStorage(t *testing.T) {
	o := newWorld(t, options{})
	b := newTab(t, o.url)
	b.beforePages(`for (const area of ["localStorage", "sessionStorage"]) Object.defineProperty(window, area, { get() { throw new DOMException("denied", "SecurityError"); } });`)
	b.do(chromedp.Navigate(b.url))
	b.fill("token", adminToken)
	b.press("Log in")
	b.sees("The storage is in memory")
	b.settled()
	b.clean("401")
}
