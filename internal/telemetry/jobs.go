package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// jobs counts the jobs on sessions.
type jobs struct {
	runs     *prometheus.CounterVec
	sessions *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	last     *prometheus.GaugeVec
}

func newJobs() jobs {
	return jobs{
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "job_runs_total", Help: "Passes of the lifecycle jobs, by job and result: ok, failed.",
		}, []string{"job", "result"}),
		sessions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "job_items_total", Help: "Sessions, or slots, that lifecycle jobs looked at, by job and result: changed, skipped.",
		}, []string{"job", "result"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "job_duration_seconds", Buckets: requestBuckets, Help: "Time of a pass.",
		}, []string{"job"}),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Name: "job_last_success_timestamp_seconds", Help: "When the last pass on this replica that did not fail ended.",
		}, []string{"job"}),
	}
}

func (j *jobs) register(r *prometheus.Registry) {
	r.MustRegister(j.runs, j.sessions, j.seconds, j.last)
}

// JobRan counts a pass of a job.
func (m *Metrics) JobRan(job string, took time.Duration, changed, skipped int, failed bool) {
	if m == nil {
		return
	}
	result := "ok"
	if failed {
		result = "failed"
	} else {
		m.jobs.last.WithLabelValues(job).Set(float64(m.clock.Now().Unix()))
	}
	m.jobs.runs.WithLabelValues(job, result).Inc()
	m.jobs.sessions.WithLabelValues(job, "changed").Add(float64(changed))
	m.jobs.sessions.WithLabelValues(job, "skipped").Add(float64(skipped))
	m.jobs.seconds.WithLabelValues(job).Observe(took.Seconds())
}
