package cronspec

import (
	"errors"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// MaxBytes bounds a spec before it reaches the parser.
const MaxBytes = 256

// What is wrong with a spec.
var (
	ErrSpec  = errors.New(`needs 5 cron fields such as "0 9 * * 1-5", or @every 10m`)
	ErrLong  = errors.New("is longer than 256 characters: split it into several")
	ErrZone  = errors.New("must not set a zone in itself: use the key timezone")
	ErrNever = errors.New("never comes: check its day and month")
	ErrShort = errors.New("must be @every 1s or more")
)

// Schedule is a spec in its zone. It is never changed.
type Schedule struct {
	loc *time.Location
	// every and anchor are set for @every, else fields.
	every  time.Duration
	anchor time.Time
	fields *cron.SpecSchedule
}

const everyPrefix = "@every "

// Check returns what is wrong with a spec, or nil.
func Check(spec string) error {
	_, err := Parse(spec, time.Unix(0, 0), time.UTC)
	return err
}

// Parse reads a spec. anchor is where the times of @every are counted from; loc is the
// zone of the fields.
func Parse(spec string, anchor time.Time, loc *time.Location) (*Schedule, error) {
	switch {
	case len(spec) > MaxBytes:
		return nil, ErrLong
	case strings.Contains(spec, "TZ="):
		return nil, ErrZone
	}
	if every, ok := strings.CutPrefix(spec, everyPrefix); ok {
		return parseEvery(every, anchor, loc)
	}
	fields, err := parseFields(spec)
	if err != nil {
		return nil, err
	}
	s := &Schedule{loc: loc, fields: fields}
	// Any moment serves: the search covers the longest time between leap days.
	if s.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, ErrNever
	}
	return s, nil
}

func parseEvery(text string, anchor time.Time, loc *time.Location) (*Schedule, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil {
		return nil, ErrSpec
	}
	if d < time.Second { // the parser would raise it to a second
		return nil, ErrShort
	}
	return &Schedule{loc: loc, every: d.Truncate(time.Second), anchor: anchor}, nil
}

// fiveFields takes no @daily and the like: what is written is what comes.
var fiveFields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

func parseFields(spec string) (fields *cron.SpecSchedule, err error) {
	defer func() {
		if recover() != nil { // robfig/cron v3.0.1 panics on some input
			fields, err = nil, ErrSpec
		}
	}()
	parsed, parseErr := fiveFields.Parse(spec)
	fields, ok := parsed.(*cron.SpecSchedule)
	if parseErr != nil || !ok {
		return nil, ErrSpec
	}
	return fields, nil
}

// Next returns the first time after the given one; zero if there is none.
func (s *Schedule) Next(after time.Time) time.Time {
	switch {
	case s.fields == nil:
		return s.nextEvery(after)
	case s.everyHour():
		return s.nextReal(after)
	default:
		return s.nextWall(after)
	}
}

func (s *Schedule) nextEvery(after time.Time) time.Time {
	// In whole seconds: a time.Duration ends after 292 years.
	every, passed := int64(s.every/time.Second), after.Unix()-s.anchor.Unix()
	if after.Nanosecond() < s.anchor.Nanosecond() {
		passed--
	}
	steps := int64(1)
	if passed >= 0 {
		steps = passed/every + 1
	}
	return time.Unix(s.anchor.Unix()+steps*every, int64(s.anchor.Nanosecond())).In(s.loc)
}

// allHours is the set of all hours of a day.
const allHours = 1<<24 - 1

func (s *Schedule) everyHour() bool { return s.fields.Hour&allHours == allHours }

// searchDays is how far ahead a time is looked for: from one 29 February to the
// next it may be eight years.
const searchDays = 9 * 366

// nextReal walks the real minutes of matching days.
func (s *Schedule) nextReal(after time.Time) time.Time {
	t := after.Truncate(time.Minute).Add(time.Minute).In(s.loc)
	for range searchDays {
		y, m, d := t.Date()
		end, exists := dayStart(nextDate(date{y, m, d}), s.loc)
		for !exists { // a day that is left out
			y, m, d = nextDate(date{y, m, d}).parts()
			end, exists = dayStart(nextDate(date{y, m, d}), s.loc)
		}
		if s.matchesDay(t.Year(), t.Month(), t.Day()) {
			for ; t.Before(end); t = t.Add(time.Minute) {
				if has(s.fields.Minute, t.Minute()) {
					return t
				}
			}
		}
		t = end
	}
	return time.Time{}
}

// nextWall walks the wall-clock times of matching days.
func (s *Schedule) nextWall(after time.Time) time.Time {
	y, m, d := after.In(s.loc).Date()
	// A time of the day before may come now, if the clocks go forward at midnight.
	day := date{y, m, d - 1}.normal()
	for range searchDays {
		if s.matchesDay(day.year, day.month, day.day) && dayExists(day, s.loc) {
			for hour := range 24 {
				if !has(s.fields.Hour, hour) {
					continue
				}
				for minute := range 60 {
					if !has(s.fields.Minute, minute) {
						continue
					}
					if t, _ := resolve(wall{day, hour, minute}, s.loc); t.After(after) {
						return t
					}
				}
			}
		}
		day = nextDate(day)
	}
	return time.Time{}
}

func has(set uint64, n int) bool { return set&(1<<uint(n)) != 0 }

// starBit marks a field that was written as *.
const starBit = 1 << 63

func (s *Schedule) matchesDay(year int, month time.Month, day int) bool {
	f := s.fields
	if !has(f.Month, int(month)) {
		return false
	}
	weekday := time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Weekday()
	dom, dow := has(f.Dom, day), has(f.Dow, int(weekday))
	if f.Dom&starBit != 0 || f.Dow&starBit != 0 {
		return dom && dow
	}
	return dom || dow
}
