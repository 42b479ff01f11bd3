package command

import (
	"errors"
	"slices"

	"github.com/chatkeep/chatkeep/gateway/limit"
	"github.com/chatkeep/chatkeep/gateway/slot"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Summary is what a summary of the current slot would stand for, as it was just before.
type Summary struct {
	// Slot is which one was looked at, Messages how many there are to summarise.
	Slot     string
	Messages int
	// Running is set if a summary of the session is being made here.
	Running bool
}

// compact asks for a summary, which takes a model's time: the command only says
// whether there will be one.
func compact(c *Call) (string, error) {
	switch running, err := c.summaryRuns(); {
	case err != nil:
		return "", err
	case running:
		return text.Say(c.Lang, text.CompactBusy), nil
	}
	id := c.Tx.CurrentSlot()
	current, err := c.slots().Get(id)
	switch {
	case errors.Is(err, slot.ErrNotFound), errors.Is(err, store.ErrNotFound):
		return text.Say(c.Lang, text.CompactNothing), nil
	case err != nil:
		return "", err
	case current.Mode == models.SlotReadonly || !current.Compact:
		return text.Say(c.Lang, text.CompactExcluded, id), nil
	case c.Summary.Messages == 0 || c.Summary.Slot != id:
		return text.Say(c.Lang, text.CompactNothing), nil
	}
	if c.OverBudget, err = c.exceeded(); err != nil || c.OverBudget != nil {
		return "", err
	}
	c.Compact = id
	return text.Say(c.Lang, text.CompactStarted, c.Summary.Messages), nil
}

// summaryRuns reports whether a summary of the session is being made, here or, because
// somebody asked for it, anywhere.
func (c *Call) summaryRuns() (bool, error) {
	if c.Summary.Running {
		return true, nil
	}
	pending, err := c.Tx.Pending()
	return slices.ContainsFunc(pending, func(in *models.Inbound) bool { return in.Deferred }), err
}

// exceeded returns the budget of the sender's that is used up; nil: none stops him.
func (c *Call) exceeded() (*limit.Standing, error) {
	a := c.Allowance
	budgets := a.Limits.Budgets(a.Day, a.Use)
	if a.Exempt || len(budgets) == 0 {
		return nil, nil
	}
	spent, err := c.Tx.Spent(budgets)
	if err != nil {
		return nil, err
	}
	return limit.UsedUp(a.Limits.Standings(budgets, spent)), nil
}
