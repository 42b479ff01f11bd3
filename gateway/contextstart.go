package gateway

import (
	"slices"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/window"
	"github.com/chatkeep/chatkeep/store"
)

// maxHistory bounds the messages that a turn reads where the settings do not.
const maxHistory = 1000

// historyLimit is how many messages a turn reads: what maxMessages shows or, where a
// context may go on from an earlier one, as many as that may have.
func historyLimit(s *Settings) int {
	switch {
	case s.MaxMessages <= 0:
		return maxHistory
	case s.Pruning.Keeps():
		return max(s.MaxMessages, maxHistory)
	}
	return s.MaxMessages
}

// begin leaves of a slot's newest messages, of which limit were read, those that its
// context is made of, and of its start what the context is to go on from. A focused slot
// shows what it is told to, at each turn.
func (g *Gateway) begin(s *Settings, stored *store.SessionContext, limit int) {
	from := stored.ShownFrom
	if !s.Pruning.Keeps() || s.Pruning.Cold(stored.ModelAt, g.now()) || focused(stored) {
		from = 0
	}
	if s.Pruning.Keeps() && !focused(stored) {
		var goesOn bool
		if stored.Messages, goesOn = window.Since(stored.Messages, from, s.MaxMessages, limit); !goesOn {
			from = 0
		}
	}
	if stored.ShownFrom = from; from == 0 {
		stored.ResultsFrom = 0
	}
}

func focused(stored *store.SessionContext) bool {
	return stored.Slot != nil && stored.Slot.Mode == models.SlotFocused
}

func startOf(stored *store.SessionContext) window.Start {
	return window.Start{From: stored.ShownFrom, Results: stored.ResultsFrom}
}

// cold reports whether no provider has a cache of how the context begins.
func (g *Gateway) cold(s *Settings, stored *store.SessionContext) bool {
	return s.Pruning.Cold(stored.ModelAt, g.now()) || s.Pruning.Keeps() && stored.ShownFrom == 0 && !focused(stored)
}

// shown notes in a commit what of the slot the model was shown, for the next turn to go
// on from.
func (r *turn) shown(c *store.TurnCommit) {
	if r.asked == nil || r.asked.First == nil || !r.settings.Pruning.Keeps() {
		return
	}
	c.ShownFrom, c.ResultsFrom = r.asked.First, r.asked.Results
	if c.ShownFrom.Seq > 0 {
		return
	}
	added := r.added.all()
	if i := slices.IndexFunc(added, func(m *models.SessionMessage) bool { return m.ID == c.ShownFrom.ID }); i >= 0 {
		c.ShownFrom = added[i]
	}
}
