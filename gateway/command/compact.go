package command

import (
	"errors"

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

// Compaction is a summary to be made once the command is carried out.
type Compaction struct {
	Slot         string
	Instructions string
}

// compact asks for a summary, which takes a model's time: the command only says
// whether there will be one.
func compact(c *Call) (string, error) {
	if c.Summary.Running {
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
	c.Compaction = &Compaction{Slot: id, Instructions: c.Args}
	return text.Say(c.Lang, text.CompactStarted, c.Summary.Messages), nil
}
