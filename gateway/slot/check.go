package slot

import (
	"fmt"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Check returns a [store.ErrInvalid] that says what is wrong with a slot.
func Check(s *models.ContextSlot) error {
	switch {
	case !models.ValidName(s.ID):
		return fmt.Errorf("%w: a slot's id must have 1 to %d letters, digits, dots, dashes or underscores", store.ErrInvalid, models.MaxName)
	case s.Mode != models.SlotFull && s.Mode != models.SlotFocused && s.Mode != models.SlotReadonly:
		return fmt.Errorf("%w: mode must be full, focused or readonly", store.ErrInvalid)
	case s.Mode == models.SlotFocused && s.Focused == nil:
		return fmt.Errorf("%w: focused must say what a focused slot shows", store.ErrInvalid)
	case s.Focused != nil && s.Focused.RecentMessages < 0:
		return fmt.Errorf("%w: focused.recentMessages must not be negative", store.ErrInvalid)
	}
	return checkBudget(s.Budget)
}

func checkBudget(b *models.Budget) error {
	if b == nil {
		return nil
	}
	for name, part := range map[string]int{
		"system": b.System, "history": b.History, "tools": b.Tools, "toolResults": b.ToolResults, "reserve": b.Reserve,
	} {
		if part < 0 {
			return fmt.Errorf("%w: budget.%s must not be negative", store.ErrInvalid, name)
		}
	}
	return nil
}
