package prune

import (
	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
)

// Input is what a plan is a function of. Nothing in it is changed.
type Input struct {
	// Messages are a slot's stored messages as a context shows them, oldest first: the
	// newest are enough. The running turn is not among them.
	Messages []*models.SessionMessage
	// Forms are earlier decisions, by Seq. They hold whatever the settings say now.
	Forms    map[int64]Form
	Settings Settings
	// Cold is whether the provider's cache is over, see [Settings.Cold].
	Cold bool
	// Ahead decides ahead of time, as a job or a person asks for it, and also if pruning
	// is not enabled.
	Ahead bool
	// Room is how many tokens Messages may have before [ModeCacheTTL] clears results;
	// zero is no bound.
	Room int
	// Count counts the tokens of texts; nil is tokens.Estimate.
	Count tokens.Count
}

// Plan is what a context shows.
type Plan struct {
	// Shown are the messages that are sent, oldest first.
	Shown []Shown
	// Fresh are the decisions that were not made before, oldest first.
	Fresh []Decision
	// Left are the stored messages that are not sent.
	Left []*models.SessionMessage
}

// Shown is a message as it is sent.
type Shown struct {
	Stored *models.SessionMessage
	// Message is a copy in its form.
	Message *models.SessionMessage
	Pruned  Pruned
}

// Decision is a form, with why it was chosen.
type Decision struct {
	Seq  int64
	Role models.Role
	Form Form
	Why  Why
	// Size is how long the result or the arguments were, Now how long they are, in
	// characters.
	Size, Now int
}

// Why is the reason of a decision.
type Why string

// The reasons.
const (
	WhyLongResult     Why = "long_result"     // longer than MaxResultSize
	WhyLongArguments  Why = "long_arguments"  // longer than MaxResultSize
	WhyOldResult      Why = "old_result"      // older than KeepRecent, in ModeHard
	WhyHalfWindow     Why = "half_window"     // the context fills more than half of the window
	WhyToolCalls      Why = "tool_calls"      // more than KeepToolCalls groups
	WhyToolCallsUnset Why = "tool_calls_none" // none are kept
)

// Run makes a plan.
func Run(in Input) Plan {
	p := newPlanner(in)
	if p.decides(false) {
		p.limitGroups()
	}
	if p.decides(true) {
		p.shorten()
		if in.Settings.Mode == ModeCacheTTL {
			p.clear()
		}
	}
	return p.plan()
}
