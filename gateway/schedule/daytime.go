package schedule

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// number matches what [count] reads.
const number = `(\d+|[一二两三四五六七八九十]{1,3})`

var digits = map[string]int{"一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}

// count reads a number in figures, or in Chinese below a hundred.
func count(text string) (n int, ok bool) {
	if n, err := strconv.Atoi(text); err == nil {
		return n, true
	}
	tens, ones, isTen := strings.Cut(text, "十")
	if !isTen {
		n, ok = digits[text]
		return n, ok
	}
	n, ok = 10, true
	if tens != "" {
		n, ok = digits[tens]
		n *= 10
	}
	if ok && ones != "" {
		var one int
		one, ok = digits[ones]
		n += one
	}
	return n, ok
}

// clockTime is a time of the day. The hour is 24 for a midnight that ends the day.
type clockTime struct{ hour, minute int }

var (
	atWord = regexp.MustCompile(`(?i)^at\b`)
	// colonTime matches 18:00, 9:15 pm and 下午3:20.
	colonTime = regexp.MustCompile(`(?i)^` + halfDay + `?(\d{1,2})[:：](\d{2})(?:\s*([ap])\.?m\b\.?)?`)
	// meridiem matches 9am.
	meridiem = regexp.MustCompile(`(?i)^(\d{1,2})\s*([ap])\.?m\b\.?`)
	// chineseTime matches 9点, 下午3点半 and 九点一刻.
	chineseTime = regexp.MustCompile(`^` + halfDay + `?\s*` + number + `\s*[点點时時][钟鐘]?(?:(半)|([一三])刻|` + number + `\s*分|(\d{2}|[二三四五]十[一二三四五六七八九]?))?`)
	namedTime   = regexp.MustCompile(`(?i)^(?:(noon)|(midnight))\b`)
	// bareHour matches 9, which is a time only behind at.
	bareHour = regexp.MustCompile(`^(\d{1,2})(?:\s|$)`)
)

const halfDay = `(凌晨|清晨|早晨|早上|上午|中午|下午|傍晚|晚上|夜里|早|晚)`

// takeTime reads a time of the day; part is the part of the day that was named before.
func (p *phrase) takeTime(part string) (t clockTime, ok bool) {
	q := *p
	defer func() {
		if ok {
			*p = q
		}
	}()
	behindAt := q.take(atWord) != nil
	if m := q.take(colonTime); m != nil {
		hour, okay := hourOf(cmp.Or(m[1], part), m[2], m[4])
		minute, _ := count(m[3])
		return clockTime{hour, minute}, okay && minute < 60
	}
	if m := q.take(meridiem); m != nil {
		hour, okay := hourOf("", m[1], m[2])
		return clockTime{hour, 0}, okay
	}
	if m := q.take(chineseTime); m != nil {
		hour, okay := hourOf(cmp.Or(m[1], part), m[2], "")
		minute := 0
		switch {
		case m[3] != "":
			minute = 30
		case m[4] != "":
			quarters, _ := count(m[4])
			minute = 15 * quarters
		case m[5]+m[6] != "":
			n, read := count(m[5] + m[6])
			minute, okay = n, okay && read
		}
		return clockTime{hour, minute}, okay && minute < 60
	}
	if m := q.take(namedTime); m != nil {
		if m[1] != "" {
			return clockTime{12, 0}, true
		}
		return clockTime{24, 0}, true
	}
	if m := q.take(bareHour); m != nil && behindAt {
		hour, okay := hourOf(part, m[1], "")
		return clockTime{hour, 0}, okay
	}
	return t, false
}

// hourOf reads an hour that is said with a part of the day, or with am or pm.
func hourOf(part, text, meridiem string) (int, bool) {
	h, ok := count(text)
	if !ok || h > 24 {
		return 0, false
	}
	switch {
	case meridiem != "":
		if h < 1 || h > 12 {
			return 0, false
		}
		if h %= 12; strings.EqualFold(meridiem, "p") {
			h += 12
		}
	case part == "下午" || part == "傍晚":
		if h < 12 {
			h += 12
		}
	case part == "晚上" || part == "夜里" || part == "晚":
		switch {
		case h == 12:
			h = 24
		case h >= 5 && h < 12:
			h += 12
		}
	case part == "中午":
		if h < 3 {
			h += 12
		}
	case part == "凌晨":
		h %= 12
	}
	return h, h < 24 || h == 24 && part != ""
}
