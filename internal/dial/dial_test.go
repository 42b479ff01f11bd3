package dial

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func guard(t *testing.T, allowPrivate, hostPorts []string) *Guard {
	t.Helper()
	p, err := ParsePolicy(allowPrivate, hostPorts)
	if err != nil {
		t.Fatal(err)
	}
	g := New(p)
	t.Cleanup(g.CloseIdleConnections)
	return g
}

// server counts what reaches it and returns its port.
func server(t *testing.T, h http.HandlerFunc) (port string, hits *atomic.Int64) {
	t.Helper()
	hits = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port(), hits
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

func get(t *testing.T, g *Guard, target string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := g.HTTPClient(5 * time.Second).Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), nil
}

func TestRefusesEverySpellingOfAnInternalAddress(t *testing.T) {
	port, hits := server(t, hello)
	g := guard(t, nil, nil)
	for _, host := range []string{
		"127.0.0.1", "127.1.2.3", "0.0.0.0", "localhost", "LOCALHOST",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
		"[::ffff:169.254.169.254]", "169.254.169.254", "[64:ff9b::a9fe:a9fe]",
		"10.0.0.1", "198.18.0.1", "100.64.0.1", "[fd00:ec2::254]", "[fe80::1%25lo]", "255.255.255.255",
	} {
		if _, err := get(t, g, "http://"+host+":"+port+"/"); !errors.Is(err, ErrRefused) {
			t.Errorf("GET %s: %v, want ErrRefused", host, err)
		}
	}
	// Not the guard's refusal, but nothing may get through either.
	for _, host := range []string{"2130706433", "0x7f000001", "0177.0.0.1", "127.1", "localhost.", ""} {
		if body, err := get(t, g, "http://"+host+":"+port+"/"); err == nil {
			t.Errorf("GET %q answered %q", host, body)
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests reached the server", n)
	}
}

func TestAllows(t *testing.T) {
	port, _ := server(t, hello)
	for name, tc := range map[string]struct {
		allowPrivate, hostPorts []string
		host                    string
		refused                 bool
	}{
		"host":                       {allowPrivate: []string{"localhost"}, host: "LocalHost"},
		"host, other host":           {allowPrivate: []string{"localhost"}, host: "127.0.0.1", refused: true},
		"address":                    {allowPrivate: []string{"127.0.0.1"}, host: "127.0.0.1"},
		"address, mapped":            {allowPrivate: []string{"127.0.0.1"}, host: "[::ffff:127.0.0.1]"},
		"CIDR":                       {allowPrivate: []string{"127.0.0.0/8"}, host: "127.0.0.1"},
		"CIDR by name":               {allowPrivate: []string{"127.0.0.0/8"}, host: "localhost"},
		"CIDR with host bits":        {allowPrivate: []string{"127.0.0.9/8"}, host: "127.0.0.1"},
		"other CIDR":                 {allowPrivate: []string{"10.0.0.0/8"}, host: "127.0.0.1", refused: true},
		"host and port":              {hostPorts: []string{"127.0.0.1:" + port}, host: "127.0.0.1"},
		"host and another port":      {hostPorts: []string{"127.0.0.1:1"}, host: "127.0.0.1", refused: true},
		"port under another name":    {hostPorts: []string{"127.0.0.1:" + port}, host: "localhost", refused: true},
		"everything in IPv6 but not": {allowPrivate: []string{"::/0"}, host: "127.0.0.1", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			body, err := get(t, guard(t, tc.allowPrivate, tc.hostPorts), "http://"+tc.host+":"+port+"/")
			switch {
			case tc.refused && !errors.Is(err, ErrRefused):
				t.Fatalf("got %q, %v; want ErrRefused", body, err)
			case !tc.refused && (err != nil || body != "hello"):
				t.Fatalf("got %q, %v", body, err)
			}
		})
	}
}

func TestChecksEveryRedirect(t *testing.T) {
	inner, innerHits := server(t, hello)
	outer, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:"+inner+"/", http.StatusFound)
	})
	g := guard(t, nil, []string{"127.0.0.1:" + outer})
	if _, err := get(t, g, "http://127.0.0.1:"+outer+"/"); !errors.Is(err, ErrRefused) {
		t.Fatalf("got %v, want ErrRefused", err)
	}
	if innerHits.Load() != 0 {
		t.Error("the redirect reached its target")
	}
}

func TestBoundsRedirects(t *testing.T) {
	var hops int
	port, hits := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/end" {
			hello(w, r)
			return
		}
		hops--
		if hops == 0 {
			http.Redirect(w, r, "/end", http.StatusFound)
			return
		}
		http.Redirect(w, r, "/again", http.StatusFound)
	})
	g := guard(t, []string{"127.0.0.1"}, nil)

	hops = MaxRedirects
	if body, err := get(t, g, "http://127.0.0.1:"+port+"/"); err != nil || body != "hello" {
		t.Errorf("%d redirects: %q, %v", MaxRedirects, body, err)
	}
	hits.Store(0)
	hops = MaxRedirects + 1
	if _, err := get(t, g, "http://127.0.0.1:"+port+"/"); !errors.Is(err, ErrTooManyRedirects) {
		t.Errorf("got %v, want ErrTooManyRedirects", err)
	}
	if n := hits.Load(); n != MaxRedirects+1 {
		t.Errorf("%d requests were made, want %d", n, MaxRedirects+1)
	}
}

// A name that first answers with a public address and then with an internal one
// is judged by the answer that is dialled, not by an earlier look-up.
func TestChecksTheAddressThatIsDialled(t *testing.T) {
	g := guard(t, nil, nil)
	for resolved, refused := range map[string]bool{
		"93.184.215.14:80": false,
		"127.0.0.1:80":     true,
		"[::1]:80":         true,
		"not an address":   true,
	} {
		if err := g.check("rebind.example.com", resolved); errors.Is(err, ErrRefused) != refused {
			t.Errorf("check(%s) = %v", resolved, err)
		}
	}
	d := dnsServer(t, netip.MustParseAddr("127.0.0.1"))
	g.resolver = d
	port, hits := server(t, hello)
	if _, err := get(t, g, "http://rebind.example.com:"+port+"/"); !errors.Is(err, ErrRefused) {
		t.Errorf("got %v, want ErrRefused", err)
	}
	if hits.Load() != 0 {
		t.Error("the request got through")
	}
}

func TestIgnoresEnvironmentProxies(t *testing.T) {
	proxy, proxyHits := server(t, hello)
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:"+proxy)
	t.Setenv("http_proxy", "http://127.0.0.1:"+proxy)
	if _, err := get(t, guard(t, []string{"127.0.0.1"}, nil), "http://10.0.0.1/"); !errors.Is(err, ErrRefused) {
		t.Errorf("got %v, want ErrRefused", err)
	}
	if proxyHits.Load() != 0 {
		t.Error("the proxy was asked")
	}
}

func TestDialsOnlyTCP(t *testing.T) {
	g := guard(t, []string{"127.0.0.1"}, nil)
	for _, network := range []string{"udp", "unix", "ip"} {
		if _, err := g.DialContext(t.Context(), network, "127.0.0.1:1"); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", network, err)
		}
	}
	if _, err := g.DialContext(t.Context(), "tcp", "no port"); err == nil {
		t.Error("an address without a port was dialled")
	}
}

func TestParsePolicy(t *testing.T) {
	for _, bad := range []string{"10.0.0.0/33", "http://host/", "", " "} {
		if _, err := ParsePolicy([]string{bad}, nil); err == nil || !strings.Contains(err.Error(), "dial: allow") {
			t.Errorf("allowPrivate %q: %v", bad, err)
		}
	}
	if _, err := ParsePolicy(nil, []string{"host-without-port"}); err == nil {
		t.Error("a host without a port was accepted as host:port")
	}
}

// dnsServer returns a resolver that answers every A question with addr.
func dnsServer(t *testing.T, addr netip.Addr) *net.Resolver {
	t.Helper()
	pc, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 512)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = pc.WriteTo(answer(buf[:n], addr), from)
		}
	}()
	t.Cleanup(func() { _ = pc.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}
