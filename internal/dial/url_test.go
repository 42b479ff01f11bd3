package dial

import (
	"errors"
	"testing"
)

func TestCheckURL(t *testing.T) {
	g := guard(t, []string{"10.1.0.0/16", "files.corp.internal", "192.168.7.7"}, []string{"127.0.0.1:9000"})
	for raw, ok := range map[string]bool{
		"https://example.com/a.png?x=1":    true,
		"http://例子.测试/a.png":               true,
		"http://8.8.8.8/a.png":             true,
		"http://[2606:4700::1111]/a":       true,
		"http://10.1.2.3/a":                true,
		"http://192.168.7.7:8080/a":        true,
		"http://files.corp.internal/a":     true,
		"http://127.0.0.1:9000/a":          true,
		"http://127.0.0.1:9001/a":          false,
		"http://127.0.0.1/a":               false,
		"http://localhost:8080/":           false,
		"http://LOCALHOST./":               false,
		"http://a.localhost/":              false,
		"http://169.254.169.254/":          false,
		"http://[::1]/":                    false,
		"http://[::ffff:169.254.169.254]/": false,
		"http://10.2.0.1/":                 false,
		"http://2130706433/":               false,
		"http://0x7f000001/":               false,
		"http://127.1/":                    false,
		"http://0177.0.0.1/":               false,
		"http://metadata.google.internal/": false,
		"http://printer.local/":            false,
		"http://intranet/":                 false,
		"ftp://example.com/a":              false,
		"file:///etc/passwd":               false,
		"javascript:alert(1)":              false,
		"//example.com/a":                  false,
		"/a.png":                           false,
		"a.png":                            false,
		"":                                 false,
		"http:///a":                        false,
		"http://user:pw@example.com/a":     false,
		"http://exa mple.com/":             false,
		"http:example.com":                 false,
	} {
		if err := g.CheckURL(raw); (err == nil) != ok || err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("%q: %v, want ok %t", raw, err, ok)
		}
	}
}
