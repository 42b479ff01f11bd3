package gateway

// The crash points of what changes a session besides its turns: around the commit, and
// while a model works on a summary.
const (
	CrashInSummary        = "mid_summary"
	CrashBeforeCompaction = "before_compaction_commit"
	CrashAfterCompaction  = "after_compaction_commit"
	CrashBeforeDerive     = "before_derive_commit"
	CrashAfterDerive      = "after_derive_commit"
	CrashBeforeDelete     = "before_delete_commit"
	CrashAfterDelete      = "after_delete_commit"
	CrashBeforePrune      = "before_prune_commit"
	CrashAfterPrune       = "after_prune_commit"
)
