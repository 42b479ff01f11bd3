package gateway

import (
	"net/http"
	"slices"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/gateway/command"
	"github.com/chatkeep/chatkeep/gateway/lifecycle"
	"github.com/chatkeep/chatkeep/gateway/limit"
	"github.com/chatkeep/chatkeep/gateway/slot"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
	"github.com/chatkeep/chatkeep/store"
)

// Config is what stays the same while the gateway runs.
type Config struct {
	// Owner names this process among the replicas; unique per start.
	Owner string
	// Lease is how long a lane or target of a dead replica stays taken.
	Lease time.Duration
	// Workers bounds the turns that run at once.
	Workers int
	// Grace is how long running turns may take to end at shutdown.
	Grace time.Duration
	// Only, when not empty, is the one session whose lane this process serves: a
	// terminal command beside a server does not take over the server's work.
	Only string
}

// Settings may be replaced while the gateway runs ([Gateway.Reload]).
type Settings struct {
	// Agents by id.
	Agents map[string]Agent
	// Chat returns what applies to a chat of an account; false for an unknown account.
	Chat func(channel, account, chatID string) (ChatSettings, bool)
	// StaticSlots are the slots that every session of an agent has, by agent id.
	StaticSlots map[string][]slot.Static
	// Identities joins the accounts of one person.
	Identities key.Identities
	Queue      Queue
	Observed   Observed
	// MaxMessages and MaxTokens bound the history that a turn reads.
	MaxMessages int
	MaxTokens   int
	// Compaction says when contexts are summarised.
	Compaction Compaction
	// Pruning says how old tool results and calls are shortened.
	Pruning prune.Settings
	// MaxInboundAge is the age beyond which a message is background only; zero: no limit.
	MaxInboundAge time.Duration
	// MaxInboundBytes is the largest text of one message; zero: models.MaxContent.
	MaxInboundBytes int
	// MaxDeliveryAge is the age beyond which an answer is not sent any more; zero: no limit.
	MaxDeliveryAge time.Duration
	Retention      store.Retention
	// TaskHooks posts tasks' answers to URLs; nil: it cannot. It must refuse addresses that
	// nobody outside may reach, and follow no redirects.
	TaskHooks *http.Client
	// CheckTaskURL refuses the URL of a new task that can be known to lead where TaskHooks
	// does not go; nil: none.
	CheckTaskURL func(url string) error
	// Lifecycle says when sessions that nobody uses change, and when the jobs run.
	Lifecycle lifecycle.Settings
	// Roles are the prompts that /role offers.
	Roles []command.Role
	// Help is what /help says instead of the list of commands, by language.
	Help map[text.Lang]string
	// ApprovalExpiry is how long a call waits for a person; zero: a day.
	ApprovalExpiry time.Duration
	// Location is the zone of times shown to people and models, and of the days of budgets.
	Location *time.Location
	// Limits are what people, chats and agents may use.
	Limits limit.Limits
	// Words are what texts are looked through for.
	Words Words
}

// Agent is an agent with what the gateway needs to know of it.
type Agent struct {
	ID           string
	Agent        agents.Agent
	SystemPrompt string
	// Model is the agent's own model, for accounting; empty: it has none, or it is not known.
	Model string
	// ContextWindow is in tokens; zero: unknown, only MaxTokens of the settings counts.
	ContextWindow int
	// MaxTokens reserves room for the answer when positive.
	MaxTokens int
	// Timeout bounds a whole turn.
	Timeout time.Duration
	// Images is false for a model that cannot see: pictures are then named.
	Images bool
	Tools  agents.Toolset
	// Models are those that /model may choose besides.
	Models []string
}

// models are those that a session of the agent may use, the agent's own first.
func (a Agent) models() []string {
	if a.Model == "" {
		return a.Models
	}
	return append([]string{a.Model}, slices.DeleteFunc(slices.Clone(a.Models), func(m string) bool { return m == a.Model })...)
}

// ChatSettings is what applies to one chat.
type ChatSettings struct {
	Agent          string
	Scopes         key.Scopes
	IsolateMembers bool
	// RequireMention makes the bot answer only when it is addressed in a group.
	RequireMention bool
	// Observe keeps what was not addressed to the bot as background.
	Observe     bool
	Streaming   bool
	WorkingSign bool
	// Mention addresses the asker in a group's answer.
	Mention      bool
	Language     string // auto, zh, en
	SystemPrompt string // overrides the agent's when not empty
	Access       access.Policy
	AllowScopes  []models.Scope
}

// QueueMode says what happens to a message that arrives while a turn runs.
type QueueMode string

// The queue modes.
const (
	// Collect merges what waited, where that is safe.
	Collect QueueMode = "collect"
	// Followup answers one message after the other.
	Followup QueueMode = "followup"
	// Interrupt stops the sender's own running turn and starts again with both texts.
	Interrupt QueueMode = "interrupt"
)

// Queue says how waiting messages are treated.
type Queue struct {
	Mode     QueueMode
	Debounce time.Duration
	// Cap bounds the waiting messages of a session; zero: no bound.
	Cap int
}

// Observed bounds the group talk that a turn takes in as background.
type Observed struct {
	MaxMessages int
	MaxAge      time.Duration
}

// inboundBytes is how long the text of one message may be.
func (s *Settings) inboundBytes() int {
	if s.MaxInboundBytes <= 0 {
		return models.MaxContent
	}
	return s.MaxInboundBytes
}
