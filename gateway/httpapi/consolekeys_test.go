package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// enter puts the focus on what a person would press of that name, beside a text if one is
// given, and presses it from the keyboard.
func (b *tab) enter(name string, in ...string) {
	b.t.Helper()
	beside := ""
	if len(in) > 0 {
		beside = in[0]
	}
	b.wait("reach "+name, fmt.Sprintf(`(() => {
		const root = document.querySelector("dialog[open]") ?? document.getElementById("app");
		const scope = %[2]q ? [...root.querySelectorAll("tr")].filter((r) => r.textContent.includes(%[2]q)) : [root];
		const found = scope.flatMap((s) => [...s.querySelectorAll("button, a, summary")]).find((n) => n.textContent.trim() === %[1]q && n.checkVisibility() && !n.disabled);
		found?.focus();
		return found && document.activeElement === found;
	})()`, name, beside))
	b.do(chromedp.KeyEvent(kb.Enter))
}

// focused waits until the focus is on something of a name, beside a text if one is given.
func (b *tab) focused(name string, in ...string) {
	b.t.Helper()
	b.settled()
	defer func() {
		if b.t.Failed() {
			b.t.Logf("the focus is on %s", evaluate[string](b, `document.activeElement.outerHTML.slice(0, 200)`))
		}
	}()
	beside := ""
	if len(in) > 0 {
		beside = in[0]
	}
	b.wait("the focus on "+name, fmt.Sprintf(`document.activeElement.textContent.trim().includes(%q) && document.activeElement !== document.body &&
		(!%[2]q || document.activeElement.closest("tr, article").textContent.includes(%[2]q))`, name, beside))
}

// TestConsoleByKeyboard does what operators do without a pointer: the focus stays where
// they work, whatever is made anew around it.
func TestConsoleByKeyboard(t *testing.T) {
	o := newOperated(t)
	b := newTab(t, o.url)
	b.do(chromedp.Navigate(b.url))
	b.fill("token", adminToken)
	b.enter("Log in")
	b.sees("Needs attention")
	b.settled()

	b.enter("Sessions") // in the navigation
	b.focused("Sessions")
	b.enter("Order desk")
	b.sees("turn 8: the order A-1008")
	b.focused("Order desk") // its heading, which came later than the page
	b.enter("Slots")
	b.focused("Slots")
	b.enter("New slot")
	b.do(chromedp.SendKeys(chromedp.CSS("dialog[open] input[name=id]"), "side"+kb.Enter))
	b.said("The slot is made.")
	b.focused("New slot")
	b.enter("Switch to it", "side")
	b.said("The slot side is the current one.")
	b.focused("", "side")
	b.enter("Switch to it", "default")
	b.said("The slot default is the current one.")
	b.enter("Delete", "side")
	b.confirm("Delete", "Order desk", "would change")
	b.said("Done: ")
	b.focused("Order desk") // the row is gone
	b.enter("Refresh")
	b.focused("Refresh")
	b.enter("Actions")
	b.enter("Archive…")
	b.enter("Cancel")
	b.focused("Actions")
	b.enter("Rename")
	b.do(chromedp.SendKeys(chromedp.CSS("dialog[open] input[name=title]"), " 2"+kb.Enter))
	b.said("The session has a new title.")
	b.focused("Rename")

	b.enter("Tasks")
	b.focused("Tasks")
	b.enter("Pause", "standup")
	b.said("The task is paused.")
	b.focused("Resume", "standup")

	b.view("access")
	b.enter("Approve", "m-1")
	b.said("They are let in.")
	b.settled()
	// A key that is held down decides once: the next request is not under it.
	b.wait("the focus in the page, on no button", `document.activeElement !== document.body && !document.activeElement.closest("button")`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.view("access")
	b.sees("Deny")

	o.pageByKeyboard(b)
	b.clean("401")
}

// pageByKeyboard goes on from what came with the last page, and keeps it.
func (o *operated) pageByKeyboard(b *tab) {
	o.t.Helper()
	for i := range 60 {
		o.admin(http.MethodPost, "/tasks", obj{"id": fmt.Sprintf("t-%02d", i), "schedule": "@every 1h", "prompt": "x", "timezone": "UTC"}).want(http.StatusCreated, "")
	}
	b.view("tasks")
	b.wait("a page", `document.querySelectorAll("tbody tr").length === 50`)
	first := evaluate[[]string](b, `[...document.querySelectorAll("tbody tr")].map((n) => n.dataset.key)`)
	b.enter("Show more")
	b.wait("the rest", `document.querySelectorAll("tbody tr").length === 61`)
	b.wait("the focus on the first of what came", `document.activeElement === document.querySelectorAll("tbody tr")[50]`)
	last := evaluate[string](b, `document.querySelectorAll("tbody tr")[59].dataset.key`)
	if strings.Contains(strings.Join(first, " "), last) {
		o.t.Errorf("%s came twice", last)
	}
	b.enter("Pause", last)
	b.said("The task is paused.")
	b.focused("Resume", last)
	if n := evaluate[int](b, `document.querySelectorAll("tbody tr").length`); n != 61 {
		o.t.Errorf("%d rows are left of 61", n)
	}
	b.view("usage")
	// A date is typed digit by digit, and whole for the first time with one digit of the year.
	b.do(chromedp.Focus(chromedp.CSS("input[name=from]")), chromedp.KeyEvent("01022026"))
	if got := evaluate[string](b, `document.querySelector("input[name=from]").value + location.hash`); got != "2026-01-02#/usage" {
		o.t.Errorf("typed: %s", got)
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.wait("it is applied", `location.hash.includes("from=2026-01-02") && document.activeElement.name === "from"`)
	b.view("session?key=" + url.QueryEscape(o.key))
	b.sees("turn 0")
}
