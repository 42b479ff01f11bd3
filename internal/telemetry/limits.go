package telemetry

import "github.com/prometheus/client_golang/prometheus"

// limits counts what was refused, and what was spent.
type limits struct {
	refused *prometheus.CounterVec
	tokens  *prometheus.CounterVec
}

func newLimits() limits {
	return limits{
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "refused_total",
			Help: "Messages and answers that were refused, by reason: access, rate, budget_user, budget_session, budget_chat, budget_agent, budget_task, word_in, word_out.",
		}, []string{"reason"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "tokens_total", Help: "Tokens that turns cost, by agent and kind: prompt, completion.",
		}, []string{"agent", "kind"}),
	}
}

func (l *limits) register(r *prometheus.Registry) { r.MustRegister(l.refused, l.tokens) }

// Refused counts a message or answer that was refused.
func (m *Metrics) Refused(reason string) {
	if m != nil {
		m.limits.refused.WithLabelValues(reason).Inc()
	}
}

// Tokens counts what a turn cost. agent is the id of a configured one.
func (m *Metrics) Tokens(agent string, prompt, completion int) {
	if m != nil {
		m.limits.tokens.WithLabelValues(agent, "prompt").Add(float64(prompt))
		m.limits.tokens.WithLabelValues(agent, "completion").Add(float64(completion))
	}
}
