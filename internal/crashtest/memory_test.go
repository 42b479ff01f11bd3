package crashtest

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// maxIdle is what an idle gateway may hold in resident memory, in bytes.
	maxIdle = 60 << 20
	// sessionsEnv sets how many sessions are touched.
	sessionsEnv = "CHATKEEP_TEST_SESSIONS"
)

// TestMemoryAtRest weighs the gateway of a fresh checkout after a few requests.
func TestMemoryAtRest(t *testing.T) {
	p := newProgram(t, setup{driver: "sqlite", dsn: filepath.Join(t.TempDir(), "chatkeep.db")})
	p.start()
	c := newClient(t, p)
	for i := range 10 {
		status, _, err := c.say(said{UserID: "somebody", Text: fmt.Sprint("hello ", i), Wait: true})
		if err != nil || status != http.StatusOK {
			t.Fatalf("status %d, %v", status, err)
		}
	}
	rss := p.resident()
	t.Logf("resident: %.1f MB", float64(rss)/(1<<20))
	if rss > maxIdle {
		t.Errorf("an idle gateway holds %d bytes, at most %d are allowed", rss, maxIdle)
	}
}

// TestMemoryPerSession touches many sessions once and finds nothing of them in
// memory afterwards: no heap beyond noise, and no goroutine.
func TestMemoryPerSession(t *testing.T) {
	sessions := 1500
	if text := os.Getenv(sessionsEnv); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		sessions = n
	}
	p := newProgram(t, setup{driver: "sqlite", dsn: filepath.Join(t.TempDir(), "chatkeep.db")})
	p.start("GOGC=10") // what is measured is close to what is alive
	c := newClient(t, p)
	touch(t, c, "warm", 500)
	before := measure(t, c)
	began := time.Now()
	touch(t, c, "user", sessions)
	took := time.Since(began)
	// Caches and pools may still grow a little; a session that stays would hold more
	// than a hundred bytes (its key alone is as long).
	bound := before.heap + 3<<20 + float64(100*sessions)
	until(t, "goroutines and heap are back to where they were", 30*time.Second, func() bool {
		now := measure(t, c)
		return now.goroutines <= before.goroutines+5 && now.heap <= bound
	})
	after := measure(t, c)
	t.Logf("%d sessions in %s: heap %.1f MB before, %.1f MB after; goroutines %.0f and %.0f; resident %.1f MB",
		sessions, took.Round(time.Millisecond), before.heap/(1<<20), after.heap/(1<<20), before.goroutines, after.goroutines, float64(p.resident())/(1<<20))
}

// touch lets n people say one thing each, and waits until all are answered.
func touch(t *testing.T, c *client, name string, n int) {
	t.Helper()
	var next, failed atomic.Int64
	var senders sync.WaitGroup
	for range 16 {
		senders.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				status, _, err := c.say(said{UserID: fmt.Sprint(name, i), Text: "hello"})
				if err != nil || status != http.StatusAccepted {
					failed.Add(1)
				}
			}
		})
	}
	senders.Wait()
	if failed.Load() > 0 {
		t.Fatalf("%d of %d messages were not accepted", failed.Load(), n)
	}
	until(t, "all messages are answered", 2*time.Minute, func() bool {
		var stats struct {
			Inbound map[string]int `json:"inbound"`
		}
		return c.get("/admin/v1/stats", &stats) == nil && stats.Inbound["received"]+stats.Inbound["running"] == 0
	})
}

type weight struct{ heap, goroutines float64 }

// measure reads the process's own metrics.
func measure(t *testing.T, c *client) weight {
	t.Helper()
	resp, err := c.http.Get(c.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	found := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok && !strings.HasPrefix(name, "#") {
			found[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	w := weight{heap: found["go_memstats_heap_alloc_bytes"], goroutines: found["go_goroutines"]}
	if w.heap == 0 || w.goroutines == 0 {
		t.Fatal("the metrics of the Go runtime are missing")
	}
	return w
}

// resident returns the process's resident memory in bytes.
func (p *program) resident() int {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Skipf("resident memory is read from /proc: %v", err)
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				p.t.Fatal(err)
			}
			return kb << 10
		}
	}
	p.t.Fatal("/proc tells no VmRSS")
	return 0
}
