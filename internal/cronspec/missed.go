package cronspec

import "time"

// Newest returns the latest times within (after, until], at most limit of them,
// the earliest first. However long ago after is, it looks no further back than it
// has to.
func (s *Schedule) Newest(after, until time.Time, limit int) []time.Time {
	if limit <= 0 || !until.After(after) {
		return nil
	}
	for window := time.Duration(limit) * time.Minute; ; window *= 8 {
		from := until.Add(-window)
		whole := !from.After(after) || window > maxWindow
		if whole {
			from = after
		}
		var found []time.Time
		for t := s.Next(from); !t.IsZero() && !t.After(until); t = s.Next(t) {
			found = append(found, t)
			if len(found) > 2*limit {
				found = append(found[:0], found[len(found)-limit:]...)
			}
		}
		if whole || len(found) >= limit {
			return found[max(0, len(found)-limit):]
		}
	}
}

// maxWindow is where looking back step by step gives way to looking at all of it.
const maxWindow = 50 * 365 * 24 * time.Hour
