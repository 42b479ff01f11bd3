// Package agents holds the contract between the gateway and whatever answers:
// [Agent], the request it gets, what it streams, and how it fails.
//
// Implementations are its sub-packages. An agent is given everything it needs in
// the request; it must not know sessions' storage, channels or the gateway.
package agents
