package cronspec

import "time"

// date is a day of the calendar.
type date struct {
	year  int
	month time.Month
	day   int
}

func (d date) parts() (int, time.Month, int) { return d.year, d.month, d.day }

func (d date) normal() date {
	y, m, day := time.Date(d.year, d.month, d.day, 0, 0, 0, 0, time.UTC).Date()
	return date{y, m, day}
}

func nextDate(d date) date { return date{d.year, d.month, d.day + 1}.normal() }

// wall is what a clock on the wall shows.
type wall struct {
	date
	hour, minute int
}

// resolve returns the first moment at which clocks show w. If none do, because the
// clocks go forward over it, it is the moment at which they do so, and exists is false.
func resolve(w wall, loc *time.Location) (t time.Time, exists bool) {
	// As if the zone were UTC; less the zone's offset this is the moment.
	naive := time.Date(w.year, w.month, w.day, w.hour, w.minute, 0, 0, time.UTC)
	near := time.Date(w.year, w.month, w.day, w.hour, w.minute, 0, 0, loc)
	start, end := near.ZoneBounds()
	around := []time.Time{near}
	if !start.IsZero() {
		around = append(around, start.Add(-time.Nanosecond))
	}
	if !end.IsZero() {
		around = append(around, end)
	}
	for _, at := range around {
		candidate := naive.Add(-offset(at)).In(loc)
		if offset(candidate) == offset(at) && (!exists || candidate.Before(t)) {
			t, exists = candidate, true
		}
	}
	if exists {
		return t, true
	}
	for _, change := range []time.Time{start, end} {
		if change.IsZero() {
			continue
		}
		before := change.UTC().Add(offset(change.Add(-time.Nanosecond)))
		after := change.UTC().Add(offset(change))
		if !naive.Before(before) && naive.Before(after) {
			return change.In(loc), false
		}
	}
	return near, true
}

func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// dayExists reports whether the zone has the day at all: Apia has no 30 December 2011.
func dayExists(d date, loc *time.Location) bool {
	first, starts := resolve(wall{d, 0, 0}, loc)
	last, ends := resolve(wall{d, 23, 59}, loc)
	return starts || ends || !first.Equal(last)
}

// dayStart returns the first moment of a day, if there is such a day.
func dayStart(d date, loc *time.Location) (time.Time, bool) {
	if !dayExists(d, loc) {
		return time.Time{}, false
	}
	t, _ := resolve(wall{d, 0, 0}, loc)
	return t, true
}
