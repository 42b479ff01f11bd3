package schedule

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/internal/cronspec"
)

// ErrPhrase means that no time stands at the beginning of what somebody wrote.
var ErrPhrase = errors.New("schedule: no time was understood")

// Draft is what somebody asked for: a repeating schedule or one moment, and a prompt.
type Draft struct {
	Schedule string
	At       *time.Time
	Prompt   string
}

// Phrases that begin a task. A clock time without a day is today's, or tomorrow's
// if it has passed.
var (
	quotedSpec = regexp.MustCompile(`^["“”']([^"“”']+)["“”']\s+(.+)$`)
	everyStep  = regexp.MustCompile(`(?i)^(?:@?every\s+|每隔?\s*)(\d+)\s*(?:(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?)\s+|(秒钟?|分钟?|个?小时|天)\s*)(.+)$`)
	everyGo    = regexp.MustCompile(`(?i)^@?every\s+((?:\d+[hms])+)\s+(.+)$`)
	inStep     = regexp.MustCompile(`(?i)^(?:in\s+)?(\d+)\s*(?:(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?)\s+|(秒钟?|分钟?|个?小时|天)\s*[后後]?\s*)(.+)$`)
	onClock    = regexp.MustCompile(`(?i)^(?:at\s+)?(today\s+|tomorrow\s+|(?:今天|明天|后天)\s*)?(?:at\s+)?(上午|早上|下午|晚上)?(\d{1,2})(?:[:：](\d{2})|[点點时時](?:(半)|(\d{1,2})分?)?)\s*(.+)$`)
)

// Read finds the time in front of a text: "0 9 * * 1-5" TEXT and every 10m TEXT
// repeat; 10m TEXT, 18:00 TEXT and 明天9点 TEXT come once. now and loc say which
// day it is for whoever wrote it.
func Read(text string, now time.Time, loc *time.Location) (*Draft, error) {
	text = strings.TrimSpace(text)
	if m := quotedSpec.FindStringSubmatch(text); m != nil {
		spec := strings.TrimSpace(m[1])
		if err := cronspec.Check(spec); err != nil {
			return nil, err
		}
		return draft(&Draft{Schedule: spec}, m[2])
	}
	if m := everyGo.FindStringSubmatch(text); m != nil {
		spec := "@every " + strings.ToLower(m[1])
		if err := cronspec.Check(spec); err != nil {
			return nil, err
		}
		return draft(&Draft{Schedule: spec}, m[2])
	}
	if m := everyStep.FindStringSubmatch(text); m != nil {
		d, ok := span(m[1], m[2]+m[3])
		if !ok {
			return nil, ErrPhrase
		}
		spec := "@every " + d.String()
		if err := cronspec.Check(spec); err != nil {
			return nil, err
		}
		return draft(&Draft{Schedule: spec}, m[4])
	}
	if m := onClock.FindStringSubmatch(text); m != nil {
		return atClock(m, now, loc)
	}
	if m := inStep.FindStringSubmatch(text); m != nil {
		d, ok := span(m[1], m[2]+m[3])
		if !ok || d <= 0 {
			return nil, ErrPhrase
		}
		at := now.Add(d)
		return draft(&Draft{At: &at}, m[4])
	}
	return nil, ErrPhrase
}

func draft(d *Draft, prompt string) (*Draft, error) {
	d.Prompt = strings.TrimSpace(strings.TrimLeft(prompt, ",，、"))
	if d.Prompt == "" {
		return nil, ErrPhrase
	}
	return d, nil
}

// maxSpan is the longest span that can be written in a phrase.
const maxSpan = 10 * 366 * 24 * time.Hour

func span(number, unit string) (time.Duration, bool) {
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0, false
	}
	var d time.Duration
	switch u := strings.ToLower(unit); {
	case strings.HasPrefix(u, "s"), strings.HasPrefix(u, "秒"):
		d = time.Second
	case strings.HasPrefix(u, "m"), strings.HasPrefix(u, "分"):
		d = time.Minute
	case strings.HasPrefix(u, "h"), strings.HasSuffix(u, "小时"):
		d = time.Hour
	default:
		d = 24 * time.Hour
	}
	if n <= 0 || n > int(maxSpan/d) {
		return 0, false
	}
	return time.Duration(n) * d, true
}

func atClock(m []string, now time.Time, loc *time.Location) (*Draft, error) {
	hour, _ := strconv.Atoi(m[3])
	minute, _ := strconv.Atoi(m[4] + m[6]) // one of them, or none
	if m[5] != "" {
		minute = 30
	}
	if half := m[2]; (half == "下午" || half == "晚上") && hour < 12 {
		hour += 12
	}
	if hour > 23 || minute > 59 {
		return nil, ErrPhrase
	}
	y, month, day := now.In(loc).Date()
	named := strings.ToLower(strings.TrimSpace(m[1]))
	switch named {
	case "tomorrow", "明天":
		day++
	case "后天":
		day += 2
	}
	at := time.Date(y, month, day, hour, minute, 0, 0, loc)
	if !at.After(now) {
		if named != "" {
			return nil, ErrPast
		}
		at = time.Date(y, month, day+1, hour, minute, 0, 0, loc)
	}
	return draft(&Draft{At: &at}, m[7])
}

// ErrPast means that the time that was named has passed.
var ErrPast = errors.New("schedule: that time has passed")
