package store

import (
	"context"
	"time"
)

// Store is the whole contract.
type Store interface {
	Inbox
	Lanes
	Turns
	Outbox
	Previews
	Sessions
	History
	Search
	Notebook
	Tasks
	Leases
	Approvals
	Access
	Usage
	Blobs
	Lifecycle
	Jobs
	Transfers
	Upkeep

	// Ping reports whether the database answers; it wraps [ErrUnavailable].
	Ping(ctx context.Context) error
	// Durable is false if everything is gone when the process ends.
	Durable() bool
	// Close releases everything. No other call may be running or follow.
	Close() error
}

// ClaimRequest asks for a lane or target, if it is free, for its caller.
type ClaimRequest struct {
	// Owner names the replica, unique per process start.
	Owner string
	// Lease is how long the claim lasts unless renewed.
	Lease time.Duration
	// Lanes narrows what [Lanes].ClaimLanes claims; empty: any lane, people's first.
	Lanes LaneKind
}

// LaneKind tells lanes of people from lanes of tasks.
type LaneKind string

// The kinds of lanes.
const (
	PeopleLanes LaneKind = "people"
	TaskLanes   LaneKind = "tasks" // of scope task
)

// Leases are named locks for work that one replica does at a time.
type Leases interface {
	// AcquireLease takes or renews the lease and reports whether the caller holds it.
	AcquireLease(ctx context.Context, name string, c ClaimRequest) (bool, error)
	// ReleaseLease gives it up if owner holds it.
	ReleaseLease(ctx context.Context, name, owner string) error
}

// Retention says how long what is finished is kept. Zero keeps it for ever.
type Retention struct {
	Inbound       time.Duration
	Deliveries    time.Duration
	Deduplication time.Duration
	Resets        time.Duration
	Usage         time.Duration // of totals, by day
}

// Swept counts what a sweep removed.
type Swept struct {
	Inbound    int
	Deliveries int
	Dedup      int
	Aliases    int
	Previews   int
	// Approvals and Results count what was kept of calls of tools.
	Approvals int
	Results   int
	// Requests for access that expired, Notices that may be told again, Rates and Budgets
	// that are over, and Usage beyond its retention.
	Requests, Notices, Rates, Budgets, Usage int
	// Messages were no longer reachable from any slot, or belonged to expired resets.
	Messages int
}

// Most is the largest count: less than a batch means that nothing is left.
func (s Swept) Most() int {
	return max(s.Inbound, s.Deliveries, s.Dedup, s.Aliases, s.Previews, s.Approvals, s.Results,
		s.Requests, s.Notices, s.Rates, s.Budgets, s.Usage, s.Messages)
}

// Upkeep is what a job does now and then.
type Upkeep interface {
	// Sweep removes at most batch rows of each kind whose time is over, oldest first.
	Sweep(ctx context.Context, now time.Time, keep Retention, batch int) (Swept, error)
	// WakeLanes makes due every idle lane that has a waiting message, and every idle
	// target with something to send, and returns how many there were: always none,
	// unless there is a fault.
	WakeLanes(ctx context.Context) (int, error)
	// Stats counts what is there. Each count stops at StatsLimit.
	Stats(ctx context.Context) (Stats, error)
	// ClockOffset is how far the database's clock is ahead of now.
	ClockOffset(ctx context.Context, now time.Time) (time.Duration, error)
}

// StatsLimit is where counting stops: a larger number is reported as this one.
const StatsLimit = 100_000

// Stats counts rows by state; states without rows may be absent.
type Stats struct {
	Sessions   map[string]int `json:"sessions"`
	Inbound    map[string]int `json:"inbound"` // received, running, failed, dead
	Deliveries map[string]int `json:"deliveries"`
}
