package schedule

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	englishDay  = `(sun|mon|tue|wed|thu|fri|sat)(?:day|s|sday|nesday|rs|rsday|urday)?`
	englishDays = `(sun|mon|tue|wed|thu|fri|sat)(?:day|sday|nesday|rsday|urday)s`
	chineseDay  = `[日天一二三四五六]`
	week        = `(?:周|星期|礼拜)`
)

var (
	daily      = regexp.MustCompile(`(?i)^(?:every\s*day\b|each\s+day\b|daily\b|每一?天|每日|天天)`)
	workdays   = regexp.MustCompile(`(?i)^(?:(?:every\s+|on\s+)?(?:weekdays?|work(?:ing\s+)?days?)\b|每?个?工作日)`)
	weekends   = regexp.MustCompile(`(?i)^(?:(?:every\s+|on\s+)?weekends?\b|每?个?周末)`)
	daysTo     = regexp.MustCompile(`(?i)^(?:every\s+)?` + englishDay + `\s*(?:-|–|to\s|through\s)\s*` + englishDay + `\b`)
	everyDay   = regexp.MustCompile(`(?i)^(?:every\s+` + englishDay + `|(?:on\s+)?` + englishDays + `)\b`)
	moreDays   = regexp.MustCompile(`(?i)^(?:[,&]|and\s)(?:\s*and\s)?\s*(?:` + englishDay + `|` + englishDays + `)\b`)
	weeklyTo   = regexp.MustCompile(`^(?:每个?)?` + week + `(` + chineseDay + `)\s*[到至~—-]\s*` + week + `?(` + chineseDay + `)`)
	weekly     = regexp.MustCompile(`^每个?` + week + `(` + chineseDay + `)`)
	moreWeekly = regexp.MustCompile(`^[、,，和]?\s*` + week + `?(` + chineseDay + `)`)
	monthly    = regexp.MustCompile(`(?i)^(?:(?:every\s+month|monthly)\s+on\s+the\s+(\d{1,2})(?:st|nd|rd|th)?\b|每个?月\s*` + number + `\s*[号號日])`)
)

// daySet is the days of a schedule, as cron fields.
type daySet struct{ ofMonth, ofWeek string }

// onDays reads 每天9点, every weekday at 9:00, 每周一三五 18:30, 9am every day.
func onDays(p *phrase, _ time.Time) (*Draft, error) {
	t, before := p.takeTime("")
	if before && !daysBehind.MatchString(p.rest) {
		return nil, nil
	}
	days, ok := p.takeDays()
	if !ok {
		return nil, nil
	}
	if !before {
		if t, ok = p.takeTime(""); !ok {
			return nil, ErrPhrase
		}
	}
	if t.hour == 24 && days != (daySet{"*", "*"}) { // which day does it end?
		return nil, ErrPhrase
	}
	return checked(fmt.Sprintf("%d %d %s * %s", t.minute, t.hour%24, days.ofMonth, days.ofWeek))
}

// takeDays reads which days a schedule comes on.
func (p *phrase) takeDays() (daySet, bool) {
	onWeek := func(days ...int) (daySet, bool) { return daySet{"*", dayList(days)}, true }
	if p.take(daily) != nil {
		return daySet{"*", "*"}, true
	}
	if p.take(workdays) != nil {
		return daySet{"*", "1-5"}, true
	}
	if p.take(weekends) != nil {
		return onWeek(0, 6)
	}
	if m := p.take(daysTo); m != nil {
		return onWeek(daysBetween(weekday(m[1]), weekday(m[2]))...)
	}
	if m := p.take(weeklyTo); m != nil {
		return onWeek(daysBetween(weekday(m[1]), weekday(m[2]))...)
	}
	if m := p.take(everyDay); m != nil {
		days := []int{weekday(m[1] + m[2])}
		for m := p.take(moreDays); m != nil; m = p.take(moreDays) {
			days = append(days, weekday(m[1]+m[2]))
		}
		return onWeek(days...)
	}
	if m := p.take(weekly); m != nil {
		days := []int{weekday(m[1])}
		for {
			if _, ok := (&phrase{p.rest}).takeTime(""); ok { // 每周一三点: the three is an hour
				break
			}
			m := p.take(moreWeekly)
			if m == nil {
				break
			}
			days = append(days, weekday(m[1]))
		}
		return onWeek(days...)
	}
	if m := p.take(monthly); m != nil {
		n, ok := count(m[1] + m[2])
		return daySet{strconv.Itoa(n), "*"}, ok
	}
	return daySet{}, false
}

// weekday is the number of a day, Sunday being 0.
func weekday(name string) int {
	names := []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat", "天", "日", "一", "二", "三", "四", "五", "六"}
	i := slices.Index(names, strings.ToLower(name))
	if i > 7 {
		i -= 8
	}
	return i % 7
}

// daysBetween is a range of weekdays, over the end of the week too.
func daysBetween(from, to int) []int {
	days := []int{from}
	for d := from; d != to; {
		d = (d + 1) % 7
		days = append(days, d)
	}
	return days
}

func dayList(days []int) string {
	slices.Sort(days)
	var names []string
	for _, d := range slices.Compact(days) {
		names = append(names, strconv.Itoa(d))
	}
	return strings.Join(names, ",")
}

var (
	nearDay = regexp.MustCompile(`(?i)^(?:(today|tomorrow|tonight)\b|(大后天|后天|今[天日]?|明[天日]?)(早上|晚上|早|晚)?)`)
	isoDay  = regexp.MustCompile(`(?i)^(?:on\s+)?(\d{4})[-/年](\d{1,2})[-/月](\d{1,2})[日号號]?`)
	dateDay = regexp.MustCompile(`^(\d{1,2})月(\d{1,2})[日号號]`)
	nameDay = regexp.MustCompile(`(?i)^(?:on\s+)?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(\d{1,2})(?:st|nd|rd|th)?\b,?`)
	weekDay = regexp.MustCompile(`(?i)^(?:(?:on\s+)?(next\s+)?` + englishDay + `\b|(下个?)?` + week + `(` + chineseDay + `))`)
	// What may follow a time as its day: with anything else it is what is to be done.
	dayBehind  = regexp.MustCompile(`(?i)^(?:(?:today|tomorrow|tonight)(?:[\s,]|$)|on\s)`)
	daysBehind = regexp.MustCompile(`(?i)^(?:every\s|each\s|on\s|每)`)
)

// namedDay is a day that somebody named.
type namedDay struct {
	date time.Time
	// part is the part of the day that the name holds, as in 明早.
	part string
	// years and days lead to the day that is meant if the time on this one has passed.
	years, days int
}

// once reads 明天9点, friday 18:00, at 9am tomorrow, 2026-12-01 09:00, or a time alone:
// today's, or tomorrow's if it has passed.
func once(p *phrase, now time.Time) (*Draft, error) {
	d, named, err := p.takeDay(now)
	if err != nil {
		return nil, err
	}
	t, ok := p.takeTime(d.part)
	if !ok {
		return nil, nil
	}
	if !named {
		d = namedDay{date: now, days: 1}
		if dayBehind.MatchString(p.rest) {
			behind, ok, err := p.takeDay(now)
			if err != nil {
				return nil, err
			}
			if ok {
				d = behind
			}
		}
	}
	on := func(date time.Time) time.Time {
		return time.Date(date.Year(), date.Month(), date.Day(), t.hour, t.minute, 0, 0, now.Location())
	}
	moment := on(d.date)
	if !moment.After(now) {
		moment = on(d.date.AddDate(d.years, 0, d.days))
	}
	if !moment.After(now) {
		return nil, ErrPast
	}
	return at(moment), nil
}

// takeDay reads one day. A date that no calendar has is an error.
func (p *phrase) takeDay(now time.Time) (namedDay, bool, error) {
	today := time.Date(now.Year(), now.Month(), now.Day(), 12, 0, 0, 0, time.UTC)
	if m := p.take(nearDay); m != nil {
		d := namedDay{part: m[3]}
		switch name := strings.ToLower(m[1] + m[2]); {
		case name == "tomorrow", strings.HasPrefix(name, "明"):
			d.date = today.AddDate(0, 0, 1)
		case name == "后天":
			d.date = today.AddDate(0, 0, 2)
		case name == "大后天":
			d.date = today.AddDate(0, 0, 3)
		default:
			d.date = today
		}
		if strings.EqualFold(m[1], "tonight") {
			d.part = "晚"
		}
		return d, true, nil
	}
	if m := p.take(weekDay); m != nil {
		ahead := (weekday(m[2]+m[4]) - int(today.Weekday()) + 7) % 7
		if m[1]+m[3] == "" {
			return namedDay{date: today.AddDate(0, 0, ahead), days: 7}, true, nil
		}
		monday := today.AddDate(0, 0, 7-(int(today.Weekday())+6)%7) // of the next week
		return namedDay{date: monday.AddDate(0, 0, (weekday(m[2]+m[4])+6)%7)}, true, nil
	}
	var year, month, years int
	var dom string
	if m := p.take(isoDay); m != nil {
		year, _ = strconv.Atoi(m[1])
		month, _ = strconv.Atoi(m[2])
		dom = m[3]
	} else if m := p.take(dateDay); m != nil {
		month, _ = strconv.Atoi(m[1])
		year, dom, years = now.Year(), m[2], 1
	} else if m := p.take(nameDay); m != nil {
		month = 1 + slices.Index([]string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}, strings.ToLower(m[1]))
		year, dom, years = now.Year(), m[2], 1
	} else {
		return namedDay{}, false, nil
	}
	n, _ := strconv.Atoi(dom)
	date := time.Date(year, time.Month(month), n, 12, 0, 0, 0, time.UTC)
	if date.Day() != n || int(date.Month()) != month {
		return namedDay{}, false, ErrPhrase
	}
	return namedDay{date: date, years: years}, true, nil
}
