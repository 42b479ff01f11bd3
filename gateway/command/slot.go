package command

import (
	"errors"
	"strings"

	"github.com/chatkeep/chatkeep/gateway/slot"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// slots is /slot list|new|derive|switch|delete.
func slots(c *Call) (string, error) {
	args := words(c.Args)
	verb, names := "", args
	if len(args) > 0 {
		verb, names = strings.ToLower(args[0]), args[1:]
	}
	switch {
	case (verb == "" || verb == "list" || verb == "列表") && len(names) == 0:
		return c.listSlots()
	case verb == "new" || verb == "新建":
		c.Args = strings.Join(names, " ")
		return newSlot(c)
	case verb == "derive" || verb == "派生":
		return c.deriveSlot(names)
	case (verb == "switch" || verb == "切换") && len(names) > 0:
		return c.onSlot(strings.Join(names, " "), text.SlotSwitched, slot.Slots.Switch)
	case (verb == "delete" || verb == "删除") && len(names) > 0:
		if c.Shared && !c.Admin {
			return text.Say(c.Lang, text.NeedsAdmin), nil
		}
		return c.onSlot(strings.Join(names, " "), text.SlotDeleted, slot.Slots.Delete)
	}
	return text.Say(c.Lang, text.SlotUsage), nil
}

func (c *Call) slots() slot.Slots { return slot.Slots{Tx: c.Tx, Static: c.StaticSlots, Now: c.Now} }

func (c *Call) listSlots() (string, error) {
	all, err := c.slots().All()
	if errors.Is(err, store.ErrNotFound) { // nothing has been said yet
		all, err = []*models.ContextSlot{{ID: models.DefaultSlot, Mode: models.SlotFull, Current: true}}, nil
	}
	if err != nil {
		return "", err
	}
	lines := []string{text.Say(c.Lang, text.SlotTitle)}
	for _, s := range all {
		id := text.SlotLine
		if s.Current {
			id = text.SlotLineCurrent
		}
		mode := text.Say(c.Lang, map[models.SlotMode]text.ID{
			models.SlotFull: text.SlotIsFull, models.SlotFocused: text.SlotIsFocused, models.SlotReadonly: text.SlotIsReadonly,
		}[s.Mode])
		lines = append(lines, text.Say(c.Lang, id, slotTitle(s), mode, s.MessageCount, s.TotalTokens))
	}
	return strings.Join(lines, "\n"), nil
}

// deriveSlot is /slot derive NAME [[from] PARENT].
func (c *Call) deriveSlot(names []string) (string, error) {
	parent := c.Tx.CurrentSlot()
	switch {
	case len(names) == 1:
	case len(names) == 2:
		parent = names[1]
	case len(names) == 3 && (strings.EqualFold(names[1], "from") || names[1] == "自"):
		parent = names[2]
	default:
		return text.Say(c.Lang, text.SlotUsage), nil
	}
	all, err := c.allSlots()
	if err != nil {
		return "", err
	}
	parent = findSlot(parent, all)
	if _, err := c.slots().Get(parent); errors.Is(err, slot.ErrNotFound) {
		return text.Say(c.Lang, text.SlotMissing, parent), nil
	}
	name := nameSlot(names[0], all)
	if said, taken := c.taken(name, all); taken {
		return said, nil
	}
	return c.onSlot(name.shown(), text.SlotDerived, func(s slot.Slots, _ string) (*models.ContextSlot, error) {
		return s.Derive(parent, slot.Derive{ID: name.id, Title: name.title})
	})
}

// allSlots returns the session's slots; the session is made if it is not there.
func (c *Call) allSlots() ([]*models.ContextSlot, error) {
	if err := c.Tx.Create(&c.Session); err != nil {
		return nil, err
	}
	return c.slots().All()
}

// onSlot carries an operation on a slot out and says that it is done, or what is
// wrong with it.
func (c *Call) onSlot(said string, done text.ID, do func(s slot.Slots, id string) (*models.ContextSlot, error)) (string, error) {
	all, err := c.allSlots()
	if err != nil {
		return "", err
	}
	switch got, err := do(c.slots(), findSlot(said, all)); {
	case err == nil:
		return text.Say(c.Lang, done, slotTitle(got)), nil
	case errors.Is(err, slot.ErrNotFound):
		return text.Say(c.Lang, text.SlotMissing, said), nil
	case errors.Is(err, slot.ErrReadonly):
		return text.Say(c.Lang, text.SlotIsStatic, said), nil
	case errors.Is(err, store.ErrConflict):
		return text.Say(c.Lang, text.SlotStays, said), nil
	default:
		return "", err
	}
}

// quotes are pairs that hold a word together.
var quotes = map[rune]rune{'"': '"', '\'': '\'', '“': '”', '‘': '’', '「': '」', '『': '』'}

// words splits arguments at blanks, outside of quotes.
func words(args string) []string {
	var out []string
	var word strings.Builder
	closing, open := rune(0), false
	end := func() {
		if open {
			out = append(out, word.String())
			word.Reset()
		}
		open = false
	}
	for _, r := range args {
		switch {
		case closing != 0 && r == closing:
			closing = 0
		case closing != 0:
			word.WriteRune(r)
		case !open && quotes[r] != 0:
			closing, open = quotes[r], true
		case strings.ContainsRune(" \t\n　", r):
			end()
		default:
			open = true
			word.WriteRune(r)
		}
	}
	end()
	return out
}
