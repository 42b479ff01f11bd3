package command

import (
	"errors"
	"strings"

	"github.com/chatkeep/chatkeep/internal/cronspec"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/store"
)

// faults are what may be wrong with a schedule, for people.
var faults = []struct {
	err error
	say text.ID
}{
	{cronspec.ErrSpec, text.ScheduleSpec}, {cronspec.ErrLong, text.ScheduleLong}, {cronspec.ErrZone, text.ScheduleZone},
	{cronspec.ErrNever, text.ScheduleNever}, {cronspec.ErrShort, text.ScheduleShort},
}

// badTime says what is wrong with the time of a task.
func (c *Call) badTime(err error) string {
	for _, f := range faults {
		if errors.Is(err, f.err) {
			return text.Say(c.Lang, text.TaskBadTime, text.Say(c.Lang, f.say))
		}
	}
	return text.Say(c.Lang, text.TaskBadTime, strings.TrimPrefix(err.Error(), store.ErrInvalid.Error()+": "))
}
