package telemetry

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/chatkeep/chatkeep/internal/clock"
)

const namespace = "chatkeep"

// Buckets of durations, in seconds. Storing takes milliseconds, a model's answer minutes.
var (
	storeBuckets   = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15}
	turnBuckets    = []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600}
	requestBuckets = []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 600}
)

// Metrics are the program's own, beside those of the Go runtime and the process.
type Metrics struct {
	registry *prometheus.Registry
	clock    clock.Clock

	accepted      *prometheus.CounterVec
	acceptSeconds prometheus.Histogram
	turnsRunning  prometheus.Gauge
	turnSeconds   *prometheus.HistogramVec
	deliveries    *prometheus.CounterVec
	requests      *prometheus.HistogramVec
	store         *Store
	jobs          jobs
	limits        limits
}

// New returns metrics without observations. version labels chatkeep_build_info.
func New(version string, c clock.Clock) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), clock: c,
		accepted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "accepted_messages_total",
			Help: "Messages taken in, by channel and kind: message, command, observed, ignored, duplicate, refused (by a limit or as invalid), failed (not stored).",
		}, []string{"channel", "kind"}),
		acceptSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "accept_duration_seconds", Buckets: storeBuckets,
			Help: "Time from a message's arrival to its commit.",
		}),
		turnsRunning: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "turns_running", Help: "Turns that run in this process.",
		}),
		turnSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "turn_duration_seconds", Buckets: turnBuckets,
			Help: "Time of a turn from its start to its commit, by outcome: done, failed, dead, stopped, handed_back.",
		}, []string{"outcome"}),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "delivery_attempts_total",
			Help: "Attempts to send, by channel and what came of them: delivered, pending (tried again), failed, dead.",
		}, []string{"channel", "result"}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "http_request_duration_seconds", Buckets: requestBuckets,
			Help: "Time of HTTP requests, waiting for answers included, by method, route and status code.",
		}, []string{"method", "route", "code"}),
		store: newStore(),
		jobs:  newJobs(), limits: newLimits(),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "Always 1; the label tells the version.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build,
		m.accepted, m.acceptSeconds, m.turnsRunning, m.turnSeconds, m.deliveries, m.requests, m.store.statements, m.store.commits,
	)
	m.jobs.register(m.registry)
	m.limits.register(m.registry)
	return m
}

// Handler serves the metrics in Prometheus' text format.
func (m *Metrics) Handler() http.Handler {
	if m == nil {
		return http.NotFoundHandler()
	}
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Accepted counts a message that came in.
func (m *Metrics) Accepted(channel, kind string, took time.Duration) {
	if m == nil {
		return
	}
	m.accepted.WithLabelValues(channel, kind).Inc()
	m.acceptSeconds.Observe(took.Seconds())
}

// TurnStarted counts a turn as running until the returned function is called with
// its outcome, once.
func (m *Metrics) TurnStarted() (ended func(outcome string)) {
	if m == nil {
		return func(string) {}
	}
	began := m.clock.Now()
	m.turnsRunning.Inc()
	return func(outcome string) {
		m.turnsRunning.Dec()
		m.turnSeconds.WithLabelValues(outcome).Observe(m.clock.Now().Sub(began).Seconds())
	}
}

// DeliveryAttempt counts an attempt to send by the state that it left.
func (m *Metrics) DeliveryAttempt(channel, result string) {
	if m == nil {
		return
	}
	m.deliveries.WithLabelValues(channel, result).Inc()
}

// Request counts a finished HTTP request. route is the pattern, never the path.
func (m *Metrics) Request(method, route string, code int, took time.Duration) {
	if m == nil {
		return
	}
	m.requests.WithLabelValues(knownMethod(method), route, strconv.Itoa(code)).Observe(took.Seconds())
}

// knownMethod keeps a client from making up label values.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}
