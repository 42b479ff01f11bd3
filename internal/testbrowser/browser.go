package testbrowser

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"
)

// EnvRequired when set makes a missing browser a failure instead of a skip: on
// a machine that has promised one.
const EnvRequired = "CHATKEEP_TEST_BROWSER"

// New returns a chromedp context with a fresh browser, which ends with the test.
// Without Chromium on the machine the test is skipped, unless [EnvRequired] is set.
func New(t *testing.T, width, height int) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		if os.Getenv(EnvRequired) != "" {
			t.Fatal("no browser: install the package chromium")
		}
		t.Skip("no browser: install the package chromium to run this test")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(width, height),
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
	)
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	return ctx
}
