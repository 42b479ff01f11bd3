package limit

import (
	"math"
	"time"

	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/store"
)

const (
	// Window is what messages are counted in: it begins with the first of them.
	Window = time.Minute
	// Lifted is what a budget has beyond its limit once it was lifted: more than anybody
	// spends.
	Lifted = math.MaxInt64 / 4
	// warnAt is the part of a budget, in percent, that is warned of.
	warnAt = 80
)

// Limits are what an operator set. Zero is unlimited everywhere.
type Limits struct {
	// MessagesPerMinute bounds the messages of one person.
	MessagesPerMinute int
	// Turns bounds the turns of one person that run at once.
	Turns int
	// TokensPerDay bounds what is spent of each kind of budget.
	TokensPerDay map[store.BudgetKind]int64
	// Exempt are people whom no limit stops: channel/account/id, * for anything.
	Exempt []string
}

// Use is what a message would use.
type Use struct {
	// Person is whose message it is: a name that all accounts of a person share. Empty:
	// nobody's.
	Person string
	// Session, Chat (channel/account/chatId), Agent and Task are what it belongs to;
	// empty: nothing of that kind.
	Session, Chat, Agent, Task string
}

// kinds is the order in which budgets are looked at and shown.
var kinds = [...]store.BudgetKind{store.BudgetUser, store.BudgetSession, store.BudgetChat, store.BudgetAgent, store.BudgetTask}

func (u Use) subject(kind store.BudgetKind) string {
	switch kind {
	case store.BudgetUser:
		return u.Person
	case store.BudgetSession:
		return u.Session
	case store.BudgetChat:
		return u.Chat
	case store.BudgetAgent:
		return u.Agent
	case store.BudgetTask:
		return u.Task
	}
	return ""
}

// Exempts reports whether no limit stops a person.
func (l Limits) Exempts(channel, account, userID string) bool {
	for _, pattern := range l.Exempt {
		if userID != "" && access.Match(pattern, channel+"/"+account+"/"+userID) {
			return true
		}
	}
	return false
}

// Rate bounds the messages of a person; nil: it does not.
func (l Limits) Rate(person string) *store.Rate {
	if l.MessagesPerMinute <= 0 || person == "" {
		return nil
	}
	return &store.Rate{Key: "messages\x00" + person, Most: l.MessagesPerMinute, Window: Window}
}

// Budgets are those that a use counts against on a day; only what is limited counts.
func (l Limits) Budgets(day int, u Use) []store.Budget {
	var out []store.Budget
	for _, kind := range kinds {
		if subject := u.subject(kind); subject != "" && l.TokensPerDay[kind] > 0 {
			out = append(out, store.Budget{Day: day, Kind: kind, Subject: subject})
		}
	}
	return out
}

// Standing is how a budget stands.
type Standing struct {
	store.Budget
	store.Spent

	// Limit is what an operator set.
	Limit int64
}

// Standings joins budgets with what was spent of them.
func (l Limits) Standings(budgets []store.Budget, spent []store.Spent) []Standing {
	out := make([]Standing, len(budgets))
	for i, b := range budgets {
		out[i] = Standing{Budget: b, Spent: spent[i], Limit: l.TokensPerDay[b.Kind]}
	}
	return out
}

// Total is what may be spent on the day.
func (s Standing) Total() int64 { return s.Limit + s.Extra }

// Exceeded reports whether nothing is left.
func (s Standing) Exceeded() bool { return s.Limit > 0 && s.Tokens >= s.Total() }

// UsedUp returns the first of some budgets of which nothing is left; nil: of each
// something is.
func UsedUp(all []Standing) *Standing {
	for i := range all {
		if all[i].Exceeded() {
			return &all[i]
		}
	}
	return nil
}

// IsLifted reports whether the budget was lifted for the day.
func (s Standing) IsLifted() bool { return s.Extra >= Lifted }

// WarnAfter reports whether it is time to warn once so many tokens more are spent.
func (s Standing) WarnAfter(tokens int64) bool {
	return s.Limit > 0 && !s.IsLifted() && (s.Tokens+tokens) >= (s.Total()*warnAt+99)/100
}

// Percent is how much of the budget is spent once so many tokens more are, at most 100.
func (s Standing) Percent(tokens int64) int {
	if s.Total() <= 0 {
		return 100
	}
	return int(min(100, float64(s.Tokens+tokens)*100/float64(s.Total())))
}

// Tomorrow is when the day of a time ends, in its own zone.
func Tomorrow(t time.Time) time.Time {
	year, month, day := t.Date()
	return time.Date(year, month, day+1, 0, 0, 0, 0, t.Location())
}
