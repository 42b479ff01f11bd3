package store

import (
	"context"
	"time"
)

// Usage keeps what turns cost, and what may still be spent today.
//
// What a turn cost is written to its message's row in the turn's own commit; SumUsage
// adds it to the totals later, once. Budgets that are limited are counted at once.
type Usage interface {
	// AddUsage counts what no turn commits: calls without a session, and what came to
	// nothing. Of a session that was deleted meanwhile not even the key is kept.
	AddUsage(ctx context.Context, entries []UsageEntry, spend []Spending) error
	// SumUsage adds what at most batch turns cost to the totals and returns how many
	// turns these were; zero: all are counted.
	SumUsage(ctx context.Context, batch int) (int, error)
	// UsageTotals sums the totals of a range of days by subject, those who used most
	// first, days in their order; at most limit (1000).
	UsageTotals(ctx context.Context, q UsageQuery) ([]UsageTotal, error)
	// Spent returns what was spent of budgets, in their order, in one query.
	Spent(ctx context.Context, budgets []Budget) ([]Spent, error)
	// AllowMore sets what a budget has beyond its limit, and returns how it stands.
	AllowMore(ctx context.Context, b Budget, extra int64) (Spent, error)
}

// UsageTx is what a change of a session may do about usage and budgets, in its own transaction.
type UsageTx interface {
	// AddUsage counts, for the session, what it cost to make the change. It comes last:
	// others may want these rows as well.
	AddUsage(e UsageEntry, spend []Spending) error
	// Spent is [Usage].Spent.
	Spent(budgets []Budget) ([]Spent, error)
	// AllowMore is [Usage].AllowMore.
	AllowMore(b Budget, extra int64) (Spent, error)
}

// UsageEntry is what one turn, or one call of a model besides, cost.
type UsageEntry struct {
	// Day is the date in the configured zone, as 20061231.
	Day int `json:"day"`
	// SessionKey, User (channel/account/id) and AgentID are empty where there is none. A
	// turn's session is that of its lane.
	SessionKey string `json:"-"`
	User       string `json:"user,omitempty"`
	AgentID    string `json:"agent,omitempty"`
	Model      string `json:"model,omitempty"`
	UsageCount
}

// UsageCount adds up.
type UsageCount struct {
	PromptTokens     int64 `json:"promptTokens"`
	CompletionTokens int64 `json:"completionTokens"`
	Turns            int64 `json:"turns"`
	// Errors counts the turns among them that failed.
	Errors int64 `json:"errors"`
}

// Add returns the sum of both.
func (c UsageCount) Add(d UsageCount) UsageCount {
	return UsageCount{
		c.PromptTokens + d.PromptTokens, c.CompletionTokens + d.CompletionTokens, c.Turns + d.Turns, c.Errors + d.Errors,
	}
}

// DayOf is the day of a time, in its own zone, as 20061231.
func DayOf(t time.Time) int {
	year, month, day := t.Date()
	return year*10000 + int(month)*100 + day
}

// UsageBy is what totals are asked for by.
type UsageBy string

// What there are totals by.
const (
	ByDay     UsageBy = "day"
	BySession UsageBy = "session"
	ByAgent   UsageBy = "agent"
	ByUser    UsageBy = "user"
	ByModel   UsageBy = "model"
)

// Valid reports whether b is one of them.
func (b UsageBy) Valid() bool {
	switch b {
	case ByDay, BySession, ByAgent, ByUser, ByModel:
		return true
	}
	return false
}

// UsageQuery selects totals.
type UsageQuery struct {
	By UsageBy
	// From and To are the first and the last day.
	From, To int
	Model    string // empty: any
	Limit    int
}

// UsageTotal is what one subject used.
type UsageTotal struct {
	// Day is set by day alone, Subject by all others.
	Day     int
	Subject string
	UsageCount
}

// BudgetKind is what a budget is for.
type BudgetKind string

// The kinds of budgets.
const (
	BudgetUser    BudgetKind = "user"
	BudgetSession BudgetKind = "session"
	BudgetChat    BudgetKind = "chat"
	BudgetAgent   BudgetKind = "agent"
	BudgetTask    BudgetKind = "task"
)

// Valid reports whether k is one of the kinds.
func (k BudgetKind) Valid() bool {
	switch k {
	case BudgetUser, BudgetSession, BudgetChat, BudgetAgent, BudgetTask:
		return true
	}
	return false
}

// Budget is what may be spent on one day.
type Budget struct {
	Day     int
	Kind    BudgetKind
	Subject string
}

// Spending is a part of a budget that was used.
type Spending struct {
	Budget
	Tokens int64
}

// Spent is how a budget stands, in tokens.
type Spent struct {
	Tokens int64
	// Extra is what an operator allowed beyond the limit.
	Extra int64
}

// Rate bounds the messages of one person.
type Rate struct {
	// Key names whose messages are counted.
	Key string
	// Most are taken within Window, which begins with the first of them.
	Most   int
	Window time.Duration
}
