package lifecycle

import (
	"time"

	"github.com/chatkeep/chatkeep/internal/cronspec"
)

// nextTime is when a spec comes after a job last started. What repeats by @every is
// counted from there, so that restarts do not put it off.
func nextTime(spec string, last time.Time, loc *time.Location) (time.Time, error) {
	if loc == nil {
		loc = time.UTC
	}
	s, err := cronspec.Parse(spec, last, loc)
	if err != nil {
		return time.Time{}, err
	}
	return s.Next(last), nil
}
