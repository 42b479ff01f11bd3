package clock_test

import (
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// A clock that is set back does not keep timers from firing, as the real one's do not
// follow the wall.
func TestFakeSetBack(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	c := clock.NewFake(now)
	timer := c.NewTimer(time.Minute)
	c.Set(now.Add(-time.Hour))
	c.Advance(59 * time.Second)
	select {
	case <-timer.C:
		t.Error("it fired early")
	default:
	}
	c.Advance(time.Second)
	select {
	case <-timer.C:
	default:
		t.Error("it did not fire")
	}
}
