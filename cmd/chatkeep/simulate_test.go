package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/chatkeep/chatkeep/internal/testbrowser"
)

// simulated starts a simulated platform and a gateway that is connected to it,
// and returns the page's URL and what the simulator printed.
func (p *place) simulated(platform string, input io.Reader) (pageURL string, out *buffer) {
	p.t.Helper()
	out = newBuffer()
	ctx, stop := context.WithCancel(p.t.Context())
	done := make(chan int, 1)
	args := []string{"simulate", platform, "--listen", "127.0.0.1:0", "--platform", "127.0.0.1:0"}
	if input == nil {
		args = append(args, "--no-prompt")
	}
	go func() { done <- run(ctx, args, input, out, out) }()
	p.t.Cleanup(func() {
		stop()
		if code := <-done; code != exitDone {
			p.t.Errorf("simulate ended with %d: %s", code, out.String())
		}
	})
	shown := out.match(p.t, regexp.MustCompile(`(?s)Page: (\S+)\n.*(channels:\n.*?)\n\n`))
	pageURL = shown[1]

	config, err := os.ReadFile(p.config)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.config, []byte(string(config)+shown[2]+"\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.serve()
	return pageURL, out
}

func TestSimulatorPage(t *testing.T) {
	for _, platform := range []string{"feishu", "dingtalk"} {
		t.Run(platform, func(t *testing.T) {
			browser := testbrowser.New(t, 1200, 800)
			url, _ := newPlace(t, "agents: [{id: assistant, kind: echo, delay: 20ms, chunkSize: 8}]\n").simulated(platform, nil)
			if err := chromedp.Do(browser, chromedp.Navigate(url)); err != nil {
				t.Fatal(err)
			}
			do(t, browser,
				chromedp.WaitVisible(`//span[@id="state"][contains(., "gateway connected")]`),
				chromedp.Click(`//nav//button[contains(., "Operations")]`),
				chromedp.SendKeys(chromedp.CSS("#text"), "What is **new**?\n"),
				chromedp.WaitVisible(`//div[contains(@class, "bot") and not(contains(@class, "growing"))]//strong[text()="new"]`),
				chromedp.Click(`//nav//button[contains(., "Lin and the")]`),
				chromedp.SendKeys(chromedp.CSS("#text"), "/help\n"),
				chromedp.WaitVisible(`//div[contains(@class, "bot")]//code[contains(., "/status")]`),
			)
			picture, err := chromedp.Run(browser, chromedp.CaptureScreenshot())
			if err != nil {
				t.Fatal(err)
			}
			if dir := os.Getenv("CHATKEEP_TEST_SCREENSHOTS"); dir != "" {
				if err := os.WriteFile(filepath.Join(dir, platform+".png"), picture, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// do runs steps on the page, each within the tests' patience.
func do(t *testing.T, browser context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	for i, step := range steps {
		ctx, cancel := context.WithTimeout(browser, patience)
		err := chromedp.Do(ctx, step)
		cancel()
		if err != nil {
			t.Fatalf("step %d: %v", i+1, err)
		}
	}
}

func TestSimulatorPrompt(t *testing.T) {
	for _, c := range []struct{ platform, group, bot string }{
		{"feishu", "Operations", "Bot"},
		{"dingtalk", "Operations", "Robot"},
	} {
		t.Run(c.platform, func(t *testing.T) {
			in, lines := io.Pipe()
			t.Cleanup(func() { _ = lines.Close() })
			_, out := newPlace(t, "").simulated(c.platform, in)
			say := func(line string) {
				t.Helper()
				if _, err := fmt.Fprintln(lines, line); err != nil {
					t.Fatal(err)
				}
			}
			say("good morning")
			out.match(t, regexp.MustCompile(c.bot+` \(.*\): good morning`))
			say(":in " + c.group)
			say(":as Wu")
			say("is it done?")
			out.match(t, regexp.MustCompile(c.bot+` \(.*\): .*is it done\?`))
			say(":in nowhere")
			out.match(t, regexp.MustCompile(`! there is no chat "nowhere"`))
			say(":fault " + faultSlow + " on")
			say(":fault nonsense on")
			out.match(t, regexp.MustCompile(`! there is no fault "nonsense"`))
			say(":quit")
			if strings.Contains(out.String(), "panic") {
				t.Error(out.String())
			}
		})
	}
}

// match waits until the buffer holds something that the pattern finds.
func (b *buffer) match(t *testing.T, pattern *regexp.Regexp) []string {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		if found := pattern.FindStringSubmatch(b.String()); found != nil {
			return found
		}
		select {
		case <-b.wrote:
		case <-timeout.C:
			t.Fatalf("%s did not come; there is %q", pattern, b.String())
		}
	}
}
