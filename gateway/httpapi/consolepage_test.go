package httpapi_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/chatkeep/chatkeep/internal/testbrowser"
)

// tab is a browser's tab with the console in it.
type tab struct {
	t       *testing.T
	ctx     context.Context
	url     string
	mu      sync.Mutex
	trouble []string
}

func newTab(t *testing.T, url string) *tab {
	t.Helper()
	b := &tab{t: t, ctx: testbrowser.New(t, 1280, 900), url: url + "/console/"}
	if err := chromedp.Do(b.ctx); err != nil { // starts the browser, for as long as the context lives
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.ctx)
	messages, done := chromedp.Console(ctx), make(chan struct{})
	go func() {
		defer close(done)
		for m, err := range messages {
			if err != nil {
				return
			}
			b.note(m)
		}
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return b
}

// note keeps what a console must not have: exceptions, errors, violations of the policy.
func (b *tab) note(m chromedp.ConsoleMessage) {
	switch m.Type {
	case chromedp.ConsoleException, chromedp.ConsoleError, chromedp.ConsoleWarning:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.trouble = append(b.trouble, fmt.Sprintf("%s %s: %s", m.Source, m.URL, m))
	default:
	}
}

// clean fails the test for what happened since, except for what is expected.
func (b *tab) clean(expected ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, what := range b.trouble {
		if !slices.ContainsFunc(expected, func(e string) bool { return strings.Contains(what, e) }) {
			b.t.Errorf("in the browser: %s", what)
		}
	}
	b.trouble = nil
	if said := evaluate[string](b, `[...document.querySelectorAll("#notices")].map((n) => n.innerText).join("\n")`); strings.Contains(said, "[object") || strings.Contains(said, "undefined") {
		b.t.Errorf("said: %s", said)
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

func evaluate[T any](b *tab, js string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js))
	if err != nil {
		b.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// wait waits until an expression holds.
func (b *tab) wait(what, js string) {
	b.t.Helper()
	defer func() {
		if b.t.Failed() {
			b.t.Logf("the page: %s", evaluate[string](b, `(document.querySelector("dialog[open]") ?? document.body)?.innerText.slice(0, 3000) ?? ""`))
		}
	}()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	eventually(b.t, what, func() bool {
		holds, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+js+")"))
		if err != nil && !strings.Contains(err.Error(), "navigated") { // while a page makes way for the next there is none to ask
			b.t.Fatalf("%s: %v", js, err)
		}
		return holds
	})
}

// sees waits for a text that is shown.
func (b *tab) sees(text string) {
	b.t.Helper()
	b.wait("see "+text, `document.body?.innerText.includes(`+strconv.Quote(text)+`)`)
}

// view opens one and waits until all of it is there.
func (b *tab) view(hash string) {
	b.t.Helper()
	evaluate[bool](b, fmt.Sprintf(`location.hash === %[1]s ? dispatchEvent(new Event("hashchange")) : Boolean(location.hash = %[1]s)`, strconv.Quote("#/"+hash)))
	b.settled()
}

func (b *tab) settled() {
	b.t.Helper()
	b.wait("the page is settled", `document.querySelector("h1") && !document.querySelector("[aria-busy=true], [aria-disabled=true]")`)
}

// press clicks the visible button or link of a name, in the dialog if one is open. After
// "in:" it is the one beside that text.
func (b *tab) press(name string, in ...string) {
	b.t.Helper()
	row := ""
	if len(in) > 0 {
		row = in[0]
	}
	js := fmt.Sprintf(`(() => {
		const root = document.querySelector("dialog[open]") ?? document.getElementById("app");
		const scope = %[2]q ? [...root.querySelectorAll("tr")].filter((r) => r.textContent.includes(%[2]q)) : [root];
		const all = scope.flatMap((s) => [...s.querySelectorAll("button, a, summary")]);
		const found = all.find((n) => n.textContent.trim() === %[1]q && n.checkVisibility() && !n.disabled && n.getAttribute("aria-disabled") !== "true");
		found?.click();
		return Boolean(found);
	})()`, name, row)
	eventually(b.t, "press "+name, func() bool { return evaluate[bool](b, js) })
}

// fill puts a value into the control of a name.
func (b *tab) fill(name, value string) {
	b.t.Helper()
	b.wait("the field "+name, fmt.Sprintf(`(() => {
		const n = (document.querySelector("dialog[open]") ?? document.getElementById("app")).querySelector("[name=%s]");
		if (!n) return false;
		n.value = %s;
		n.dispatchEvent(new Event("input", { bubbles: true }));
		n.dispatchEvent(new Event("change", { bubbles: true }));
		return true;
	})()`, name, strconv.Quote(value)))
}

// said waits for a notice and closes it.
func (b *tab) said(text string) {
	b.t.Helper()
	b.wait("hear "+text, fmt.Sprintf(`(() => {
		const n = [...document.querySelectorAll("#notices > *")].find((n) => n.textContent.includes(%q));
		n?.remove();
		return n;
	})()`, text))
	b.settled()
}

// confirm waits for the dry run in the dialog, which must name its subject, and confirms.
func (b *tab) confirm(label, subject, would string) {
	b.t.Helper()
	b.wait("the dialog tells "+would, fmt.Sprintf(`document.querySelector("dialog[open] .outcome")?.innerText.includes(%q)`, would))
	if text := evaluate[string](b, `document.querySelector("dialog[open]").innerText`); !strings.Contains(text, subject) {
		b.t.Errorf("the dialog does not name %q: %s", subject, text)
	}
	b.press(label)
}

// hold keeps back the answer to the next request of a kind, which is made at once whatever
// is aborted, until the function that it returns is called.
func (b *tab) hold(method, part string) (release func()) {
	b.t.Helper()
	evaluate[bool](b, fmt.Sprintf(`(() => {
		const plain = window.fetch;
		window.held = null;
		window.fetch = (url, options) => {
			if (options.method !== %q || !String(url).includes(%q)) return plain(url, options);
			window.fetch = plain;
			const answer = plain(url, { ...options, signal: null });
			return new Promise((resolve) => {
				window.held = async () => {
					const whole = await answer;
					const text = await whole.text();
					resolve({ ok: whole.ok, status: whole.status, headers: whole.headers, text: async () => text, json: async () => JSON.parse(text) });
					await new Promise((read) => setTimeout(read)); // by then all that waited for it has run
				};
			});
		};
		return true;
	})()`, method, part))
	return func() {
		b.t.Helper()
		b.wait("it was asked for", `window.held`)
		evaluate[bool](b, `window.held().then(() => { window.held = null; }) && true`)
		b.wait("the answer came", `window.held === null`)
	}
}

// size sets the window and the theme.
func (b *tab) size(width int64, dark bool) {
	b.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.do(chromedp.EmulateViewport(width, 900), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
}

// fits fails if the page is wider than the window.
func (b *tab) fits(name string) {
	b.t.Helper()
	wide := evaluate[string](b, `document.documentElement.scrollWidth <= innerWidth ? "" :
		[...document.querySelectorAll("body *")].filter((n) => n.getBoundingClientRect().right > innerWidth + 1).map((n) => n.outerHTML.slice(0, 120)).slice(0, 3).join("\n")`)
	if wide != "" {
		b.t.Errorf("%s is wider than the window:\n%s", name, wide)
	}
}

// pictures is where somebody wants them, if anybody does.
func pictures() string { return os.Getenv("CHATKEEP_TEST_SCREENSHOTS") }

func (b *tab) picture(name string) {
	b.t.Helper()
	dir := pictures()
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "console-"+name+".png"), png, 0o600)
	}
	if err != nil {
		b.t.Error(err)
	}
}

// beforePages runs a script in each page before its own.
func (b *tab) beforePages(js string) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: js})
		return err
	}))
}
