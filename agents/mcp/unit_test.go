package mcp

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/chatkeep/chatkeep/internal/clock"
)

var nopLog = slog.New(slog.DiscardHandler)

func TestToolNames(t *testing.T) {
	for _, tc := range []struct{ server, tool, want string }{
		{"github", "list_issues", "github__list_issues"},
		{"a-b", "c", "a-b__c"},
		{"a", "b__c", "a__b__c"},
	} {
		if got := toolName(tc.server, tc.tool); got != tc.want {
			t.Errorf("%+v: %s", tc, got)
		}
	}
	for _, tc := range [][2]string{{"a__b", "c"}, {"a_", "_c"}, {"a.b", "c"}, {"a", "c d"}, {"a", strings.Repeat("x", 80)}, {"a", "名"}, {"a", "b_01234567"}} {
		if got := toolName(tc[0], tc[1]); !hashed.MatchString(got) {
			t.Errorf("%q: %s has no hash", tc, got)
		}
	}
}

// No two tools ever have the same name, and all names are what providers take.
func TestToolNamesAreInjective(t *testing.T) {
	valid := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	part := func(t *rapid.T, label string) string {
		return rapid.OneOf(
			rapid.StringMatching(`[ab_.]{1,6}`), rapid.StringMatching(`a{50,80}[ab]`), rapid.StringMatching(`[ab]_[0-9a-f]{8}`),
		).Draw(t, label)
	}
	rapid.Check(t, func(t *rapid.T) {
		one := [2]string{part(t, "server"), part(t, "tool")}
		two := [2]string{part(t, "other server"), part(t, "other tool")}
		a, b := toolName(one[0], one[1]), toolName(two[0], two[1])
		if !valid.MatchString(a) {
			t.Fatalf("%q: %q", one, a)
		}
		if (a == b) != (one == two) {
			t.Fatalf("%q and %q: %s, %s", one, two, a, b)
		}
	})
}

func TestMessagesPassesMessagesOnly(t *testing.T) {
	long := `{"x":"` + strings.Repeat("y", 200<<10) + `"}` + "\n"
	in := "Hello\n{\"a\":1}\n\n  [1]\r\n" + strings.Repeat("noise ", 50<<10) + "\n" + long + `{"last":true}`
	var noise bytes.Buffer
	got, err := io.ReadAll(iotest.OneByteReader(&messages{from: iotest.HalfReader(strings.NewReader(in)), noise: &noise}))
	if err != nil {
		t.Fatal(err)
	}
	if want := "{\"a\":1}\n  [1]\r\n" + long + `{"last":true}`; string(got) != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	if !strings.HasPrefix(noise.String(), "Hello\n\nnoise") {
		t.Errorf("noise %.40q", noise.String())
	}
}

func TestLineLogIsBounded(t *testing.T) {
	out := &logged{}
	fake := clock.NewFake(time.Unix(1e9, 0))
	l := &lineLog{clock: fake, log: slog.New(slog.NewTextHandler(out, nil))}
	_, _ = io.WriteString(l, "first half, ")
	_, _ = io.WriteString(l, "second half\n\n"+strings.Repeat("x", 1<<20)+"\n")
	for range 1000 {
		_, _ = io.WriteString(l, "again\n")
	}
	if got := out.String(); !strings.Contains(got, "first half, second half") || len(got) > 20<<10 || strings.Count(got, "again") != maxLines-2 {
		t.Errorf("%d bytes, %d lines", len(got), strings.Count(got, "again"))
	}
	fake.Advance(linePeriod)
	_, _ = io.WriteString(l, "later\n")
	if got := out.String(); !strings.Contains(got, "lines=952") || !strings.Contains(got, "later") {
		t.Errorf("…%s", got[len(got)-300:])
	}
}

func TestSchema(t *testing.T) {
	for in, want := range map[string]string{
		`null`:                      `{"properties":{},"type":"object"}`,
		`{}`:                        `{"properties":{},"type":"object"}`,
		`{"type":["object"]}`:       `{"properties":{},"type":"object"}`,
		`{"properties":{"a":true}}`: `{"properties":{"a":true},"type":"object"}`,
	} {
		if got, err := schema(rawJSON(in)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	for _, in := range []string{`true`, `[]`, `{"description":"` + strings.Repeat("x", maxSchema) + `"}`} {
		if got, err := schema(rawJSON(in)); err == nil {
			t.Errorf("%.20s: %.40s", in, got)
		}
	}
}

type rawJSON string

func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

func TestEnvironment(t *testing.T) {
	safe := []string{
		"PATH=/bin", "HOME=/home/bot", "LC_ALL=C.UTF-8", "TZ=Asia/Shanghai", "TMPDIR=/t", "https_proxy=http://p", "NO_PROXY=a",
		"SSL_CERT_FILE=/c", "SystemRoot=C:\\Windows", "ProgramFiles(x86)=C:\\P",
	}
	ours := slices.Concat(safe, []string{
		"CHATKEEP_SERVER_ADMIN_TOKEN=s3cret", "DEEPSEEK_API_KEY=s3cret", "FEISHU_SECRET=s3cret", "MYSQL_DSN=s3cret", "AWS_SESSION_TOKEN=s3cret", "=C:=C:\\",
	})
	got := environment(ours, map[string]string{"CALENDAR_KEY": "for the server"})
	if want := append(slices.Clone(safe), "CALENDAR_KEY=for the server"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// An error of the HTTP client writes the URL in its own way.
func TestURLsAreNotLogged(t *testing.T) {
	for _, address := range []string{
		"https://mcp.test/in?token=s3cret", "https://mcp.test/工具?token=s3cret", "https://me:s3cret@mcp.test/in?key=s3cret", "HTTPS://mcp.test/in?token=s3cret#s3cret",
	} {
		req, err := http.NewRequest(http.MethodPost, address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		cause := &url.Error{Op: "Post", URL: strings.Replace(req.URL.String(), "me:s3cret", "me:***", 1), Err: io.ErrUnexpectedEOF}
		l := newLink(Server{Name: "web", URL: address}, http.DefaultClient, clock.Real(), nopLog)
		if text := l.scrub(fmt.Errorf("connect: %w", cause)); strings.Contains(text, "s3cret") || !strings.Contains(text, "web") {
			t.Errorf("%s is logged as %q", address, text)
		}
	}
}
