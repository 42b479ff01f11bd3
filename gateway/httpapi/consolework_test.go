package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/chromedp/chromedp"

	"github.com/chatkeep/chatkeep/models"
)

// everyView of the console, with those that belong to sessions and tasks.
func (o *operated) everyView() []string {
	views := []string{
		"overview", "sessions", "sessions?state=archived", "search?q=planted", "inbound", "inbound?state=failed", "deliveries", "push", "tasks", "task?id=standup",
		"approvals", "access", "usage?by=user", "usage?by=session", "agents", "config", "live",
	}
	for _, of := range []string{o.key, o.planted} {
		for _, part := range []string{"history", "context", "slots", "notes", "variables", "files", "details"} {
			views = append(views, "session?key="+url.QueryEscape(of)+"&tab="+part)
		}
	}
	return append(views, "session?slot=default&key="+url.QueryEscape(o.planted))
}

// seeEverything looks at every view on a narrow screen in English and on a wide one in
// Chinese: it fits, and nothing that was planted runs or became an element.
func (o *operated) seeEverything(b *tab) {
	o.t.Helper()
	b.size(360, false)
	o.lookAround(b, "360")
	b.size(1280, true)
	b.view("overview")
	b.press("中文")
	b.sees("概览")
	o.lookAround(b, "zh-dark-1280")
	b.view("sessions")
	b.sees("最近活动")
	if lang := evaluate[string](b, `document.documentElement.lang`); lang != "zh-CN" {
		o.t.Errorf("lang %q", lang)
	}
	b.press("English")
	b.sees("Last activity")
	b.size(1280, false)
	if pictures() != "" {
		o.lookAround(b, "1280")
		b.size(360, true)
		o.lookAround(b, "dark-360")
		b.size(1280, false)
	}
	b.view("session?key=" + url.QueryEscape(o.planted) + "&slot=default")
	b.sees(`<img src="x" class="planted"`)
}

func (o *operated) lookAround(b *tab, how string) {
	o.t.Helper()
	for i, view := range o.everyView() {
		b.view(view)
		b.fits(view)
		b.picture(fmt.Sprintf("%s-%02d-%s", how, i, nameOfView(view)))
		for _, check := range []struct{ what, js string }{
			{"what was planted came up", `window.hit === 1 || document.querySelector(".planted, #app img, #app svg, #app script") ? "it did" : ""`},
			{"headings", `[...document.querySelectorAll("h1")].map((n) => n.innerText).filter((_, i) => i > 0).join()`},
			{"an error", `document.querySelector("#app [role=alert]:not([hidden])")?.innerText ?? ""`},
			{"no value", `document.body.innerText.match(/\[object|undefined|NaN|\{\w+\}/)?.[0] ?? ""`},
			{"without a label", `[...document.querySelectorAll("input, select, textarea")].filter((n) => n.labels.length === 0).map((n) => n.name).join()`},
		} {
			if found := evaluate[string](b, check.js); found != "" {
				o.t.Errorf("%s, %s: %s: %s", how, view, check.what, found)
			}
		}
	}
}

func nameOfView(view string) string {
	name, query, _ := strings.Cut(view, "?")
	if _, part, has := strings.Cut(query, "tab="); has {
		name += "-" + part
	}
	return name
}

// operateSession does each thing to a session as a whole.
func (o *operated) operateSession(b *tab, view string) {
	o.t.Helper()
	b.view("sessions")
	evaluate[bool](b, `document.querySelector("[name=q]").focus() === undefined`)
	b.fill("q", "Order")
	b.wait("the filtered list, and the focus where it was", `location.hash === "#/sessions?q=Order" && document.activeElement.name === "q"`)
	b.settled()
	b.press("Order desk")
	b.sees("turn 8: the order A-1008")
	b.sees("assistant")
	b.press("Rename")
	b.fill("title", "Order desk 2")
	b.press("Rename")
	b.said("The session has a new title.")
	b.press("Pin")
	b.said("The session is pinned.")
	b.press("Unpin")
	b.said("The session is not pinned any more.")
	if got := o.admin(http.MethodGet, o.path, nil).ok(); got.str("title") != "Order desk 2" || got.get("pinned") != false {
		o.t.Errorf("%s", got.body)
	}

	evaluate[bool](b, `(() => {
		const make = URL.createObjectURL;
		URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return make(blob); };
		return true;
	})()`)
	for _, format := range []string{"JSONL", "Markdown", "HTML"} {
		b.press("Export")
		b.press(format)
		b.said("The export is saved.")
	}
	b.wait("the export was read", `window.saved?.includes("</html>")`)

	act := func(action, label, would, said string) {
		o.t.Helper()
		b.press("Actions")
		b.press(action + "…")
		b.confirm(label, "Order desk 2", would)
		b.said(said)
	}
	b.press("Actions")
	b.press("Compact…")
	b.sees("would change")
	b.fill("instructions", "heed the orders")
	b.picture("dialog")
	b.press("Cancel")
	act("Prune", "Prune", "2 would change", "Done: 2 changed.")
	b.press("Context")
	b.sees("soft")
	act("Compact", "Compact", "would change", "Done: ")
	b.sees("## Decisions")
	act("Reset", "Reset", "would change", "Done: ")
	b.press("History")
	b.sees("Nothing was said here yet.")
	act("Restore the last reset", "Restore the last reset", "would change", "Done: ")
	b.sees("turn 8: the order A-1008")
	act("Archive", "Archive", "1 would change", "Done: 1 changed.")
	b.sees("archived")
	act("Restore", "Restore", "1 would change", "Done: 1 changed.")
	b.view(view)
	o.work(obj{"userId": "lin", "text": "hold this", "wait": false}).want(http.StatusAccepted, "")
	await(o.t, "the turn runs", o.gate.entered)
	act("Cancel what runs", "Cancel what runs", "1 would change", "Done: 1 changed.")
}

// readLong pages through a long history.
func (o *operated) readLong(b *tab) {
	o.t.Helper()
	turn := o.chat(obj{"userId": "wang", "text": "the very first"}).ok()
	var more []*models.SessionMessage
	for i := range 60 {
		more = append(more, &models.SessionMessage{ID: fmt.Sprintf("long-%d", i), Role: models.RoleUser, Content: fmt.Sprintf("line %d.", i)})
	}
	if err := o.store.AppendMessages(o.t.Context(), turn.str("sessionKey"), more); err != nil {
		o.t.Fatal(err)
	}
	b.view("session?key=" + url.QueryEscape(turn.str("sessionKey")))
	b.sees("line 59.")
	if evaluate[bool](b, `document.body.innerText.includes("the very first")`) {
		o.t.Error("the whole history is on one page")
	}
	b.press("Show earlier messages")
	b.sees("the very first")
	if n := evaluate[int](b, `document.querySelectorAll(".message").length`); n != 62 {
		o.t.Errorf("%d messages", n)
	}
}

func (o *operated) operateSlots(b *tab, view string) {
	o.t.Helper()
	b.view(view + "&tab=slots")
	b.press("New slot")
	b.fill("id", "side")
	b.press("Create")
	b.said("The slot is made.")
	b.press("Switch to it", "side")
	b.said("The slot side is the current one.")
	b.press("Change", "side")
	b.fill("mode", "focused")
	b.fill("recent", "3")
	b.fill("summary", "two\nlines")
	b.fill("budget", "auto")
	b.picture("slot-form")
	b.press("Save")
	b.said("Saved.")
	b.press("Change", "side")
	evaluate[bool](b, `document.querySelector("dialog[open] [name=compact]").click() === undefined`)
	b.press("Save") // all else stays
	b.said("Saved.")
	if got := o.admin(http.MethodGet, o.path+"/slots", nil).ok(); !strings.Contains(string(got.body), `"focused":{"keepSystem":true,"recentMessages":3,"summaryOverride":"two\nlines"},"source":{"kind":"new","parentId":"","strategy":""},"budget":{"auto":true`) || !strings.Contains(string(got.body), `"compact":false`) {
		o.t.Errorf("%s", got.body)
	}
	b.press("Derive", "default")
	b.fill("id", "copy")
	b.press("Derive")
	b.said("The slot is made.")
	b.press("Merge", "copy")
	b.fill("into", "side")
	b.press("Merge")
	b.said("Messages that were added: ")
	b.press("Delete", "copy")
	b.confirm("Delete", "Order desk 2", "would change")
	b.said("Done: ")
	b.press("New slot")
	b.fill("id", "side")
	b.press("Create")
	b.sees("slot_exists · request ") // an error stands in its dialog, with its code
	b.press("Cancel")
	b.press("Switch to it", "default")
	b.said("The slot default is the current one.")
	if got := o.admin(http.MethodGet, o.path+"/slots", nil).ok(); len(got.items()) != 2 {
		o.t.Errorf("%s", got.body)
	}
	b.clean("409")
}

func (o *operated) operateMemory(b *tab, view string) {
	o.t.Helper()
	b.view(view + "&tab=notes")
	b.press("New note")
	b.fill("value", "likes <b>blue</b>")
	// A double click, and Enter besides, is one.
	evaluate[bool](b, `(() => { const f = document.querySelector("dialog form"); for (const _ of [1, 2]) f.requestSubmit(); f.querySelector("button.primary").click(); return true; })()`)
	b.said("The note is remembered.")
	b.sees("likes <b>blue</b>")
	if n := len(o.admin(http.MethodGet, o.path+"/memory", nil).ok().items()); n != 1 {
		o.t.Errorf("%d notes", n)
	}
	b.press("Forget", "likes")
	b.press("Forget")
	b.said("The note is forgotten.")
	b.view(view + "&tab=variables")
	b.press("New variable")
	b.fill("name", "floor / 3")
	b.fill("value", `{"n": 3}`)
	b.press("Save")
	b.said("Saved.")
	if got := o.admin(http.MethodGet, o.path+"/variables/"+url.PathEscape("floor / 3"), nil).ok(); got.get("value", "n") != 3.0 {
		o.t.Errorf("%s", got.body)
	}
	b.press("Remove", "floor / 3")
	b.press("Remove")
	b.said("The variable is removed.")
	b.view(view + "&tab=files")
	b.fill("text", "# Plan\n- ship it\n")
	b.press("Save PLAN.md")
	b.said("PLAN.md is saved.")
	if got := o.do(request{method: http.MethodGet, path: "/admin/v1" + o.path + "/files/PLAN.md", token: adminToken}).ok(); string(got.body) != "# Plan\n- ship it\n" {
		o.t.Errorf("%s", got.body)
	}
}

func (o *operated) operateQueues(b *tab) {
	o.t.Helper()
	for i := range 40 {
		o.chat(obj{"userId": fmt.Sprintf("u-%d", i), "text": "hi"}).ok()
	}
	b.view("inbound")
	b.press("Show more")
	b.wait("the second page", `document.querySelectorAll("tbody tr").length > 50 && !document.querySelector("[aria-disabled=true]")`)
	b.view("inbound?state=failed")
	b.press("Retry", "wu")
	b.said("The message runs again.")
	b.view("deliveries?state=failed")
	b.press("Retry", "no such chat")
	b.said("It is sent again.")
	b.press("Push a message")
	b.settled()
	b.wait("the form", `document.querySelector("[name=account]")`)
	b.fill("account", evaluate[string](b, `[...document.querySelector("[name=account]").options].find((o) => o.text === "fake/main").value`))
	b.fill("id", "c-9")
	b.fill("text", "The build is green.")
	b.press("Push")
	b.said("The message is stored for sending.")
	b.sees("The build is green.")
	eventually(o.t, "it is sent", func() bool { return strings.Contains(strings.Join(o.channel.texts(), "\n"), "The build is green.") })
}

func (o *operated) decide(b *tab) {
	o.t.Helper()
	b.view("access")
	b.press("Approve", "m-1")
	b.said("They are let in.")
	b.press("Deny", "m-2")
	b.press("Deny")
	b.said("They are refused.")
	b.sees("Nobody asks to be let in.")
	b.press("Take back", "m-2")
	b.press("Take back")
	b.said("The decision is taken back.")
	b.view("approvals")
	b.press("Approve", "refund")
	b.press("Approve")
	b.said("The call runs.")
	eventually(o.t, "the call has run", func() bool {
		return len(o.admin(http.MethodGet, "/approvals?state=done", nil).ok().items()) == 1
	})
	b.sees("There are no such calls.")
	b.view("overview")
	b.press("Run…", "archive")
	b.sees("Run the job archive?")
	b.press("Run")
	b.said("0 changed, 0 skipped of ")
	b.view("search?q=A-1004")
	b.sees("turn 4: the order A-1004")
}

// comeLate holds answers back until another view is shown: of a list, and of a message that
// is pushed, after which its list would be opened.
func (o *operated) comeLate(b *tab) {
	o.t.Helper()
	b.view("agents")
	release := b.hold("GET", "/sessions?")
	evaluate[bool](b, `Boolean(location.hash = "#/sessions")`)
	b.sees("Loading…")
	b.view("agents")
	release()
	if shown := evaluate[string](b, `document.querySelector("main").innerText`); !strings.HasPrefix(shown, "Agents") || strings.Contains(shown, "Last activity") {
		o.t.Errorf("the late answer is shown: %s", shown)
	}

	// Of two questions the later one is shown, whichever answer comes first.
	b.view("tasks")
	release = b.hold("GET", "/tasks?")
	b.press("Refresh")
	b.press("Pause", "standup")
	paused := `[...document.querySelectorAll("tr")].some((r) => r.textContent.includes("Resume"))`
	b.wait("the later answer", paused)
	release()
	if !evaluate[bool](b, paused) {
		o.t.Error("the earlier answer took the place of the later one")
	}
	b.said("The task is paused.")

	b.view("push")
	b.fill("id", "c-9")
	b.fill("text", "late")
	release = b.hold("POST", "/deliveries")
	b.press("Push")
	b.view("agents")
	release()
	b.said("The message is stored for sending.")
	if shown := evaluate[string](b, `location.hash`); shown != "#/agents" {
		o.t.Errorf("the late answer leads to %s", shown)
	}
}

// watchLive follows what happens, and is told where nothing can be followed.
func (o *operated) watchLive(b *tab) {
	o.t.Helper()
	b.view("live")
	b.sees("Connected.")
	turn := o.chat(obj{"userId": "li", "text": "hello"}).ok()
	b.wait("the turn is shown", fmt.Sprintf(`[...document.querySelectorAll(".events li")].some((n) => /turn.finished.*api.default.li .*%s/s.test(n.innerText))`, turn.str("inboundId")))
	b.fill("filter", "nothing of that kind")
	b.wait("it is filtered", `![...document.querySelectorAll(".events li")].some((n) => n.checkVisibility())`)
	evaluate[bool](b, `(() => {
		const plain = window.fetch;
		window.fetch = (url, options) => String(url).endsWith("/events") ? Promise.resolve(new Response("{}", { status: 404 })) : plain(url, options);
		window.restore = () => { window.fetch = plain; };
		return true;
	})()`)
	b.view("agents")
	b.view("live")
	b.sees("Not available")
	evaluate[bool](b, `window.restore() === undefined`)
}

// comeThroughProxy opens the console where a proxy serves it below a path of its own.
func (o *operated) comeThroughProxy(b *tab) {
	o.t.Helper()
	to, err := url.Parse(o.url)
	if err != nil {
		o.t.Fatal(err)
	}
	proxy := httptest.NewServer(http.StripPrefix("/ops", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.SetXForwarded()
	}}))
	defer proxy.Close()
	b.do(chromedp.Navigate(proxy.URL + "/ops/console"))
	b.sees("Admin token")
	b.fill("token", adminToken)
	b.press("Log in")
	b.sees("Needs attention")
	b.view("session?key=" + url.QueryEscape(o.planted) + "&slot=default")
	b.sees(`<img src="x" class="planted"`)
	b.clean("401")
	b.do(chromedp.Navigate(b.url))
	b.sees("Needs attention")
	b.settled()
}

// endSession deletes the session, and loses the token.
func (o *operated) endSession(b *tab, view string) {
	o.t.Helper()
	b.view(view)
	b.press("Actions")
	b.press("Delete…")
	b.confirm("Delete", o.key, "would change")
	b.said("Done: ")
	b.wait("the list", `location.hash === "#/sessions"`)
	b.settled()
	o.importSession(b)
	b.view(view)
	b.sees("session_not_found · request ")
	evaluate[bool](b, `sessionStorage.setItem("chatkeep.token", "expired") === undefined`)
	evaluate[bool](b, `Boolean(location.hash = "#/agents")`)
	b.sees("Admin token")
	b.sees("the admin token is needed")

	b.fill("token", adminToken)
	b.press("Log in")
	b.sees("Context window")
	b.press("Log out")
	b.sees("Admin token")
	if left := evaluate[int](b, `sessionStorage.length`); left != 0 {
		o.t.Error("the token is still there")
	}
	b.clean("404", "401")
}
