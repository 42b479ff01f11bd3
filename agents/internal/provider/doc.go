// Package provider holds what every agent that calls a remote service shares:
// when a failed call is made again, when a dead service is left alone, what a
// status code means, and what has been shown of an answer so far.
//
// It must not know any provider's protocol.
package provider
