// Package webhook is the agent that hands the turn to a service of the user's own
// and answers with what it gives back, as JSON or as server-sent events.
//
// It owns that protocol, version 1. It must not know what the
// service does; it runs no tools.
package webhook
