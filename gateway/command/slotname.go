package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
)

// maxSlotTitle is how long a slot's title may be, in characters.
const maxSlotTitle = 60

// slotName is what a slot is to be called: an id and, where people gave no legal one,
// a title to show.
type slotName struct{ id, title string }

// shown is what people read.
func (n slotName) shown() string {
	if n.title == "" {
		return n.id
	}
	return n.title + " (`" + n.id + "`)"
}

// nameSlot makes a legal name of what somebody wrote; nothing is a name of our own.
func nameSlot(said string, slots []*models.ContextSlot) slotName {
	said = strings.Join(strings.Fields(said), " ")
	switch {
	case models.ValidName(said):
		return slotName{id: said}
	case said == "":
		return slotName{id: freeName(slots)}
	}
	if runes := []rune(said); len(runes) > maxSlotTitle {
		said = string(runes[:maxSlotTitle-1]) + "…"
	}
	return slotName{id: freeName(slots), title: said}
}

func freeName(slots []*models.ContextSlot) string {
	taken := make(map[string]bool, len(slots))
	for _, s := range slots {
		taken[s.ID] = true
	}
	for n := 2; ; n++ {
		if name := fmt.Sprintf("chat-%d", n); !taken[name] {
			return name
		}
	}
}

// findSlot returns the id of the slot that somebody means: by its id, or its title.
func findSlot(said string, slots []*models.ContextSlot) string {
	i := slices.IndexFunc(slots, func(s *models.ContextSlot) bool { return s.ID == said })
	if i < 0 {
		i = slices.IndexFunc(slots, func(s *models.ContextSlot) bool { return s.Title != "" && strings.EqualFold(s.Title, said) })
	}
	if i < 0 {
		return said
	}
	return slots[i].ID
}

// slotTitle is a slot's name for people.
func slotTitle(s *models.ContextSlot) string { return slotName{s.ID, s.Title}.shown() }

// taken says that there is a slot of that name, if there is one.
func (c *Call) taken(n slotName, slots []*models.ContextSlot) (string, bool) {
	for _, s := range slots {
		if s.ID == n.id || n.title != "" && strings.EqualFold(s.Title, n.title) {
			return text.Say(c.Lang, text.SlotExists, slotName{s.ID, s.Title}.shown()), true
		}
	}
	return "", false
}
