package telemetry

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// Store counts what is sent to the database. It has the methods of the relational
// store's observer.
type Store struct {
	statements prometheus.Counter
	commits    *prometheus.CounterVec
}

func newStore() *Store {
	return &Store{
		statements: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "store_statements_total", Help: "Statements sent to the database.",
		}),
		commits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "store_commits_total", Help: "Transactions, by how far they came: asked, committed.",
		}, []string{"phase"}),
	}
}

// Store returns the database's observer; nil for nil metrics.
func (m *Metrics) Store() *Store {
	if m == nil {
		return nil
	}
	return m.store
}

// Statement counts a statement.
func (s *Store) Statement(context.Context, string) error {
	s.statements.Inc()
	return nil
}

// Commit counts a commit that is asked for.
func (s *Store) Commit(context.Context) error {
	s.commits.WithLabelValues("asked").Inc()
	return nil
}

// Committed counts a commit that took place.
func (s *Store) Committed(context.Context) error {
	s.commits.WithLabelValues("committed").Inc()
	return nil
}
