package config

import "time"

// Session is the memory of chats.
type Session struct {
	// MaxMessages and MaxTokenCount bound what the model is sent; 0: unlimited.
	MaxMessages   int `json:"maxMessages"`
	MaxTokenCount int `json:"maxTokenCount"`
	// TTL deletes a session unused for this long; 0s: never.
	TTL Duration `json:"ttl"`
	// IdleTimeout counts from the last user input.
	IdleTimeout Duration `json:"idleTimeout"`
	// ArchiveAfter counts from when the session became idle; 0s: never.
	ArchiveAfter Duration `json:"archiveAfter"`
	// ExportDir is where a session is written as JSONL, and read back, before TTL
	// deletes it; empty: nowhere.
	ExportDir  string     `json:"exportDir"`
	Pruning    Pruning    `json:"pruning"`
	Compaction Compaction `json:"compaction"`
	Queue      Queue      `json:"queue"`
	Observed   Observed   `json:"observed"`
	// Slots are static slots given to every session of an agent, readonly.
	Slots []StaticSlot `json:"slots"`
}

// PruningMode says what becomes of old tool results.
type PruningMode string

// The pruning modes.
const (
	PruningSoft     PruningMode = "soft"      // shortened
	PruningHard     PruningMode = "hard"      // replaced, old messages deleted
	PruningCacheTTL PruningMode = "cache_ttl" // once the provider's cache is cold
)

func (PruningMode) values() []string { return []string{"soft", "hard", "cache_ttl"} }

// Pruning shortens old tool results. Sizes are in characters.
type Pruning struct {
	Enabled            bool        `json:"enabled"`
	Mode               PruningMode `json:"mode"`
	KeepRecentCount    int         `json:"keepRecentCount"`
	MaxToolResultSize  int         `json:"maxToolResultSize"`
	SaveToolCalls      bool        `json:"saveToolCalls"`
	KeepToolCallsCount int         `json:"keepToolCallsCount"`
	CacheTTL           Duration    `json:"cacheTtl"`
}

// Compaction replaces old messages by a summary.
type Compaction struct {
	Enabled bool `json:"enabled"`
	// MaxTokenCount times TriggerThreshold (0 to 1) is where it starts.
	MaxTokenCount        int     `json:"maxTokenCount"`
	TriggerThreshold     float64 `json:"triggerThreshold"`
	KeepRecentCount      int     `json:"keepRecentCount"`
	MinMessagesToCompact int     `json:"minMessagesToCompact"`
	// Agent writes the summaries; empty: the session's own.
	Agent string `json:"agent"`
}

// QueueMode says what becomes of messages that arrive during a turn.
type QueueMode string

// The queue modes.
const (
	QueueCollect   QueueMode = "collect"
	QueueFollowup  QueueMode = "followup"
	QueueInterrupt QueueMode = "interrupt"
)

func (QueueMode) values() []string { return []string{"collect", "followup", "interrupt"} }

// Queue is how messages wait for their turn.
type Queue struct {
	Mode     QueueMode `json:"mode"`
	Debounce Duration  `json:"debounce"`
	Cap      int       `json:"cap"` // waiting messages per session; 0: unlimited
}

// Observed bounds the group talk kept as background.
type Observed struct {
	MaxMessages int      `json:"maxMessages"`
	MaxAge      Duration `json:"maxAge"`
}

// StaticSlot is a readonly slot given to every session of an agent.
type StaticSlot struct {
	ID       string        `json:"id"`
	Agent    string        `json:"agent"`
	Messages []SlotMessage `json:"messages"`
}

// SlotRole is the role of a static slot's message.
type SlotRole string

func (SlotRole) values() []string { return []string{"system", "user", "assistant"} }

// SlotMessage is one message of a static slot.
type SlotMessage struct {
	Role    SlotRole `json:"role"`
	Content string   `json:"content"`
}

func defaultSession() Session {
	return Session{
		MaxMessages:   100,
		MaxTokenCount: 128000,
		IdleTimeout:   Duration(time.Hour),
		ArchiveAfter:  Duration(720 * time.Hour),
		Pruning: Pruning{
			Mode: PruningSoft, KeepRecentCount: 10, MaxToolResultSize: 2000,
			SaveToolCalls: true, KeepToolCallsCount: 5, CacheTTL: Duration(5 * time.Minute),
		},
		Compaction: Compaction{
			MaxTokenCount: 100000, TriggerThreshold: 0.8, KeepRecentCount: 10, MinMessagesToCompact: 20,
		},
		Queue:    Queue{Mode: QueueCollect, Debounce: Duration(500 * time.Millisecond), Cap: 20},
		Observed: Observed{MaxMessages: 50, MaxAge: Duration(24 * time.Hour)},
		Slots:    []StaticSlot{},
	}
}

// Lifecycle holds the schedules of the jobs on sessions: 5 cron fields or
// @every, in [Config].Timezone. Empty: the job runs only when it is asked to.
type Lifecycle struct {
	Prune   string `json:"prune"`
	Compact string `json:"compact"`
	Idle    string `json:"idle"`
	Archive string `json:"archive"`
	Expire  string `json:"expire"`
}

func defaultLifecycle() Lifecycle {
	return Lifecycle{
		Prune: "@every 5m", Compact: "@every 5m", Idle: "@every 1m",
		Archive: "@every 10m", Expire: "@every 1h",
	}
}
