// Package lifecycle runs the jobs on sessions: it shortens contexts, and moves
// sessions that nobody uses through their states.
//
// It owns when jobs run, that each runs once at a time among all replicas, their
// records, and what becomes of a session before it is deleted. What is due, and that
// nobody uses it, is the store's to say; how a context is shortened is told by its
// owner. The package must not know channels, agents, or HTTP.
package lifecycle
