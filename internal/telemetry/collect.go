package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/chatkeep/chatkeep/internal/clock"
)

const (
	// statsAge is how old counts of stored rows may be: however often somebody
	// scrapes, the database is asked no oftener.
	statsAge = 10 * time.Second
	// statsTimeout bounds the question.
	statsTimeout = 5 * time.Second
)

// Counts are numbers of stored rows by state.
type Counts struct {
	Sessions, Inbound, Deliveries map[string]int
}

// WatchCounts adds the numbers of stored rows. count is called when somebody
// scrapes, at most once in ten seconds.
func (m *Metrics) WatchCounts(count func(context.Context) (Counts, error)) {
	if m != nil {
		m.registry.MustRegister(newCounted(count, m.clock))
	}
}

// counted collects row counts.
type counted struct {
	count func(context.Context) (Counts, error)
	clock clock.Clock

	sessions, inbound, deliveries, up *prometheus.Desc

	mu   sync.Mutex
	at   time.Time
	last Counts
	ok   bool
}

func newCounted(count func(context.Context) (Counts, error), c clock.Clock) *counted {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
	}
	return &counted{
		count: count, clock: c,
		sessions:   desc("sessions", "Stored sessions by state, counted up to a limit.", "state"),
		inbound:    desc("inbound_messages", "Stored messages by state: received is the depth of the queue. Counted up to a limit.", "state"),
		deliveries: desc("deliveries", "Stored deliveries by state, counted up to a limit.", "state"),
		up:         desc("store_up", "1 if the last count of stored rows succeeded."),
	}
}

// Describe is part of [prometheus.Collector].
func (c *counted) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.sessions, c.inbound, c.deliveries, c.up} {
		out <- d
	}
}

// Collect is part of [prometheus.Collector].
func (c *counted) Collect(out chan<- prometheus.Metric) {
	counts, ok := c.fresh()
	up := 0.0
	if ok {
		up = 1
		gauges(out, c.sessions, counts.Sessions)
		gauges(out, c.inbound, counts.Inbound)
		gauges(out, c.deliveries, counts.Deliveries)
	}
	out <- prometheus.MustNewConstMetric(c.up, prometheus.GaugeValue, up)
}

func gauges(out chan<- prometheus.Metric, d *prometheus.Desc, counts map[string]int) {
	for state, n := range counts {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), state)
	}
}

// fresh returns counts that are not too old. A failure is not asked again before
// its time either: a database in trouble needs no more questions.
func (c *counted) fresh() (Counts, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	if !c.at.IsZero() && now.Sub(c.at) < statsAge {
		return c.last, c.ok
	}
	ctx, cancel := context.WithTimeout(context.Background(), statsTimeout)
	defer cancel()
	counts, err := c.count(ctx)
	c.at, c.last, c.ok = now, counts, err == nil
	return c.last, c.ok
}

// Channel is one account's connection.
type Channel struct {
	Channel, Account string
	Connected        bool
	// LastEventAt is zero if nothing came yet.
	LastEventAt time.Time
}

// WatchChannels adds the connections of the accounts.
func (m *Metrics) WatchChannels(list func() []Channel) {
	if m == nil {
		return
	}
	labels := []string{"channel", "account"}
	m.registry.MustRegister(&connections{
		list: list, clock: m.clock,
		connected: prometheus.NewDesc(prometheus.BuildFQName(namespace, "", "channel_connected"), "1 if the account is connected.", labels, nil),
		quiet: prometheus.NewDesc(prometheus.BuildFQName(namespace, "", "channel_last_event_age_seconds"),
			"Time since the account's last event; absent before the first.", labels, nil),
	})
}

// connections collects how the accounts are connected.
type connections struct {
	list             func() []Channel
	clock            clock.Clock
	connected, quiet *prometheus.Desc
}

// Describe is part of [prometheus.Collector].
func (c *connections) Describe(out chan<- *prometheus.Desc) {
	out <- c.connected
	out <- c.quiet
}

// Collect is part of [prometheus.Collector].
func (c *connections) Collect(out chan<- prometheus.Metric) {
	for _, ch := range c.list() {
		connected := 0.0
		if ch.Connected {
			connected = 1
		}
		out <- prometheus.MustNewConstMetric(c.connected, prometheus.GaugeValue, connected, ch.Channel, ch.Account)
		if !ch.LastEventAt.IsZero() {
			age := max(0, c.clock.Now().Sub(ch.LastEventAt).Seconds())
			out <- prometheus.MustNewConstMetric(c.quiet, prometheus.GaugeValue, age, ch.Channel, ch.Account)
		}
	}
}
