package config

import (
	"errors"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// maxSpecBytes bounds a spec before it reaches the parser.
const maxSpecBytes = 256

var (
	errSpec      = errors.New(`needs 5 cron fields such as "0 9 * * 1-5", or @every 10m`)
	errSpecLong  = errors.New("is longer than 256 characters: split it into several")
	errSpecZone  = errors.New("must not set a zone in itself: use the key timezone")
	errSpecNever = errors.New("never comes: check its day and month")
	errSpecShort = errors.New("must be @every 1s or more")
)

// checkSchedule checks a spec: 5 cron fields, or @every with 1s or more.
func checkSchedule(spec string) (err error) {
	switch {
	case len(spec) > maxSpecBytes:
		return errSpecLong
	case strings.Contains(spec, "TZ="):
		return errSpecZone
	}
	if every, ok := strings.CutPrefix(spec, "@every "); ok {
		// The parser would raise less than a second, and less than nothing, to one.
		if d, err := time.ParseDuration(strings.TrimSpace(every)); err == nil && d < time.Second {
			return errSpecShort
		}
	}
	defer func() {
		if recover() != nil { // robfig/cron v3.0.1 panics on some input
			err = errSpec
		}
	}()
	schedule, parseErr := cron.ParseStandard(spec)
	if parseErr != nil {
		return errSpec
	}
	// Any moment serves: the parser searches the five years after it, and those
	// after this one hold a leap day.
	if schedule.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return errSpecNever
	}
	return nil
}
