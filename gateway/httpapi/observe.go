package httpapi

import (
	"context"

	"github.com/chatkeep/chatkeep/internal/telemetry"
)

// Observe adds to the metrics what is not counted but looked at: stored rows by
// state, and the connections of the accounts. Call it once.
func Observe(m *telemetry.Metrics, h Health) {
	m.WatchCounts(func(ctx context.Context) (telemetry.Counts, error) {
		stats, err := h.Stats(ctx)
		return telemetry.Counts(stats), err
	})
	m.WatchChannels(func() []telemetry.Channel {
		var out []telemetry.Channel
		for _, a := range h.Adapters() {
			st := a.Status()
			out = append(out, telemetry.Channel{
				Channel: a.Channel(), Account: a.Account(), Connected: st.Connected, LastEventAt: st.LastEventAt,
			})
		}
		return out
	})
}
