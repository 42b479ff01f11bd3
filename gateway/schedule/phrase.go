package schedule

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/internal/cronspec"
)

var (
	// ErrPhrase means that no time stands at the beginning of what somebody wrote, or
	// nothing after it.
	ErrPhrase = errors.New("schedule: no time was understood")
	// ErrPast means that the time that was named has passed.
	ErrPast = errors.New("its time has passed")
)

// Draft is what somebody asked for: a repeating schedule or one moment, and a prompt.
type Draft struct {
	Schedule string
	At       *time.Time
	Prompt   string
}

// Read finds the time in front of a text: "0 9 * * 1-5" TEXT, every 10m TEXT and
// 工作日9点 TEXT repeat; 10m TEXT, 18:00 TEXT and 明天9点 TEXT come once. now and loc
// say which day it is for whoever wrote it.
func Read(text string, now time.Time, loc *time.Location) (*Draft, error) {
	d, rest, err := read(text, now.In(loc))
	if err != nil {
		return nil, err
	}
	if d.Prompt = strings.TrimSpace(strings.TrimLeft(rest, " ,，、:：")); d.Prompt == "" {
		return nil, ErrPhrase
	}
	return d, nil
}

// ReadTime reads a time that stands alone.
func ReadTime(text string, now time.Time, loc *time.Location) (*Draft, error) {
	d, rest, err := read(text, now.In(loc))
	if err == nil && strings.TrimSpace(rest) != "" {
		err = ErrPhrase
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// phrase is what is left to be read of a text.
type phrase struct{ rest string }

// take reads what a pattern matches at the beginning, and the space after it; nil if it
// matches nothing.
func (p *phrase) take(pattern *regexp.Regexp) []string {
	m := pattern.FindStringSubmatch(p.rest)
	if m != nil {
		p.rest = strings.TrimLeft(p.rest[len(m[0]):], " \t\n　")
	}
	return m
}

// read tries one form after the other.
func read(text string, now time.Time) (d *Draft, rest string, err error) {
	for _, form := range []func(*phrase, time.Time) (*Draft, error){cron, onDays, repeated, once, afterwards} {
		p := &phrase{strings.TrimSpace(text)}
		if d, err := form(p, now); d != nil || err != nil {
			return d, p.rest, err
		}
	}
	return nil, "", ErrPhrase
}

var (
	quotedSpec = regexp.MustCompile(`^["“”']([^"“”']+)["“”'](?:\s|$)`)
	// bareSpec is five fields, of which only months and weekdays may have names.
	bareSpec = regexp.MustCompile(`^((?:[\d*/,-]+\s+){3}[\d*/,A-Za-z-]+\s+[\d*/,A-Za-z-]+)(?:\s|$)`)
)

func cron(p *phrase, _ time.Time) (*Draft, error) {
	m := p.take(quotedSpec)
	if m == nil {
		m = p.take(bareSpec)
	}
	if m == nil {
		return nil, nil
	}
	return checked(strings.TrimSpace(m[1]))
}

// checked is a draft that repeats.
func checked(spec string) (*Draft, error) {
	if err := cronspec.Check(spec); err != nil {
		return nil, err
	}
	return &Draft{Schedule: spec}, nil
}

const (
	englishUnit = `(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)\b`
	chineseUnit = `(秒钟?|分钟?|个?小时|个?钟头?|天)`
)

var (
	goSpan    = regexp.MustCompile(`(?i)^@?every\s+((?:\d+[hms]){2,})\b`)
	everySpan = regexp.MustCompile(`(?i)^(?:@?every\s+|每隔?\s*)` + number + `\s*(?:` + englishUnit + `|` + chineseUnit + `)`)
	everyUnit = regexp.MustCompile(`(?i)^(?:every\s+|每)(?:(minute\b|分钟)|(?:个?半个?小时|half\s+(?:an\s+)?hour\b)|(hour\b|个?小时|个?钟头))`)
	hourly    = regexp.MustCompile(`(?i)^hourly\b`)

	goAfter   = regexp.MustCompile(`(?i)^(?:in\s+)?((?:\d+[hms]){2,})\b`)
	after     = regexp.MustCompile(`(?i)^(?:in\s+)?` + number + `\s*(?:` + englishUnit + `|` + chineseUnit + `\s*(?:之?[后後])?)`)
	afterHalf = regexp.MustCompile(`(?i)^(?:in\s+half\s+an\s+hour\b|半个?(?:小时|钟头)(?:之?[后後])?)`)
	afterUnit = regexp.MustCompile(`(?i)^in\s+an?\s+(minute|hour|day)\b`)
)

// repeated reads every 10m, 每10分钟, every hour.
func repeated(p *phrase, _ time.Time) (*Draft, error) {
	if m := p.take(goSpan); m != nil {
		return checked("@every " + strings.ToLower(m[1]))
	}
	if m := p.take(everySpan); m != nil {
		d, ok := span(m[1], m[2]+m[3])
		if !ok {
			return nil, ErrPhrase
		}
		return checked("@every " + written(d))
	}
	if m := p.take(everyUnit); m != nil {
		switch {
		case m[1] != "":
			return checked("@every 1m")
		case m[2] != "":
			return checked("@every 1h")
		}
		return checked("@every 30m")
	}
	if p.take(hourly) != nil {
		return checked("@every 1h")
	}
	return nil, nil
}

// afterwards reads 10m, in 2 days, 30分钟后.
func afterwards(p *phrase, now time.Time) (*Draft, error) {
	if m := p.take(goAfter); m != nil {
		d, err := time.ParseDuration(strings.ToLower(m[1]))
		if err != nil || d <= 0 || d > maxSpan {
			return nil, ErrPhrase
		}
		return at(now.Add(d)), nil
	}
	if p.take(afterHalf) != nil {
		return at(now.Add(30 * time.Minute)), nil
	}
	var n, unit string
	if m := p.take(after); m != nil {
		n, unit = m[1], m[2]+m[3]
	} else if m := p.take(afterUnit); m != nil {
		n, unit = "1", m[1]
	} else {
		return nil, nil
	}
	d, ok := span(n, unit)
	if !ok {
		return nil, ErrPhrase
	}
	if days := int(d / day); d%day == 0 {
		return at(now.AddDate(0, 0, days)), nil // the same time of that day
	}
	return at(now.Add(d)), nil
}

// written is a span without the parts that are zero: 10m, not 10m0s.
func written(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

func at(t time.Time) *Draft { return &Draft{At: &t} }

const (
	day = 24 * time.Hour
	// maxSpan is the longest span that can be written in a phrase.
	maxSpan = 10 * 366 * day
)

// span reads a number of units.
func span(n, unit string) (time.Duration, bool) {
	var d time.Duration
	switch u := strings.ToLower(unit); {
	case strings.HasPrefix(u, "s"), strings.HasPrefix(u, "秒"):
		d = time.Second
	case strings.HasPrefix(u, "m"), strings.HasPrefix(u, "分"):
		d = time.Minute
	case strings.HasPrefix(u, "d"), u == "天":
		d = day
	default:
		d = time.Hour
	}
	v, ok := count(n)
	if !ok || v <= 0 || v > int(maxSpan/d) {
		return 0, false
	}
	return time.Duration(v) * d, true
}
