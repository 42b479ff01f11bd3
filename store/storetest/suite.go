package storetest

import (
	"testing"

	"github.com/chatkeep/chatkeep/store"
)

// Options describes the implementation under test.
type Options struct {
	// New returns an empty store that is closed when the test ends. It is called once per test.
	New func(tb testing.TB) store.Store
	// Reopen closes a store that New returned and opens another on the same data. Nil
	// if everything is gone when a store closes.
	Reopen func(tb testing.TB, s store.Store) store.Store
	// Durable is what the store has to say about itself.
	Durable bool
	// Faults is New for a store that reports every statement and commit to the
	// injector. Nil if the implementation has none that could fail.
	Faults func(tb testing.TB, in *Injector) store.Store
	// Tables returns all that a store which New returned holds, by name. Nil if another
	// implementation that has it stores the same tables.
	Tables func(tb testing.TB, s store.Store) map[string]Table
}

// Table is a table of a database as it is.
type Table struct {
	Columns []string
	Rows    [][][]byte
}

// Run checks that an implementation keeps the contract.
func Run(t *testing.T, o Options) {
	t.Helper()
	groups := []struct {
		name  string
		tests []test
	}{
		{"Accept", acceptTests()},
		{"Queue", queueTests()},
		{"RunAgain", runAgainTests()},
		{"Commands", commandTests()},
		{"Observed", observedTests()},
		{"InboundLists", inboundListTests()},
		{"Lanes", laneTests()},
		{"Merge", mergeTests()},
		{"Turns", turnTests()},
		{"Stopped", stoppedTests()},
		{"Outbox", outboxTests()},
		{"Background", backgroundTests()},
		{"Retry", retryTests()},
		{"Previews", previewTests()},
		{"Sessions", sessionTests()},
		{"Change", changeTests()},
		{"Slots", slotTests()},
		{"Notebook", notebookTests()},
		{"Approvals", approvalTests()},
		{"Blobs", blobTests()},
		{"Context", contextTests()},
		{"ContextStart", startTests()},
		{"ContextModel", contextModelTests()},
		{"Lifecycle", lifecycleTests()},
		{"Delete", deleteTests()},
		{"Lists", listTests()},
		{"History", historyTests()},
		{"Search", searchTests()},
		{"Values", valueTests()},
		{"Transfers", transferTests()},
		{"Limits", limitTests()},
		{"Tasks", taskTests()},
		{"TaskRuns", taskRunTests()},
		{"Leases", leaseTests()},
		{"Access", accessTests()},
		{"Usage", usageTests()},
		{"Sweep", sweepTests()},
		{"Races", raceTests()},
		{"Model", modelTests()},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) { runGroup(t, o, g.tests) })
	}
	t.Run("Reopen", func(t *testing.T) { runReopen(t, o) })
	t.Run("Faults", func(t *testing.T) { runFaults(t, o) })
}

// test is one promise of the contract.
type test struct {
	name string
	run  func(f *fixture)
}

func runGroup(t *testing.T, o Options, tests []test) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.run(newFixture(t, o, o.New(t))) })
	}
}
