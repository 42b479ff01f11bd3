package cronspec_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/chatkeep/chatkeep/internal/cronspec"
)

func zone(tb testing.TB, name string) *time.Location {
	tb.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		tb.Fatal(err)
	}
	return loc
}

func parse(tb testing.TB, spec, name string) *cronspec.Schedule {
	tb.Helper()
	s, err := cronspec.Parse(spec, time.Time{}, zone(tb, name))
	if err != nil {
		tb.Fatalf("%q: %v", spec, err)
	}
	return s
}

// times returns what comes within (from, until], as clocks in the zone show it.
func times(s *cronspec.Schedule, from, until time.Time) []string {
	var out []string
	for t := s.Next(from); !t.IsZero() && !t.After(until); t = s.Next(t) {
		out = append(out, t.Format("2006-01-02 15:04 -0700"))
	}
	return out
}

func TestDaysOfClockChanges(t *testing.T) {
	for _, c := range []struct {
		zone, day, spec string
		want            []string
	}{
		// Shanghai changes nothing, in spring and autumn alike.
		{"Asia/Shanghai", "2026-03-08", "30 2 * * *", []string{"2026-03-08 02:30 +0800"}},
		{"Asia/Shanghai", "2026-11-01", "30 1 * * *", []string{"2026-11-01 01:30 +0800"}},
		// New York, 8 March 2026: 02:00 becomes 03:00.
		{"America/New_York", "2026-03-08", "30 2 * * *", []string{"2026-03-08 03:00 -0400"}},
		{"America/New_York", "2026-03-08", "*/10 2 * * *", []string{"2026-03-08 03:00 -0400"}},
		{"America/New_York", "2026-03-08", "0 2,3 * * *", []string{"2026-03-08 03:00 -0400"}},
		{"America/New_York", "2026-03-08", "0 9 * * *", []string{"2026-03-08 09:00 -0400"}},
		// 1 November 2026: 02:00 becomes 01:00.
		{"America/New_York", "2026-11-01", "30 1 * * *", []string{"2026-11-01 01:30 -0400"}},
		{"America/New_York", "2026-11-01", "0 2 * * *", []string{"2026-11-01 02:00 -0500"}},
		{"America/New_York", "2026-11-01", "0 1-2 * * *", []string{"2026-11-01 01:00 -0400", "2026-11-01 02:00 -0500"}},
		// Lord Howe moves by half an hour: 4 October 2026 02:00 becomes 02:30, 5 April 02:00 becomes 01:30.
		{"Australia/Lord_Howe", "2026-10-04", "15 2 * * *", []string{"2026-10-04 02:30 +1100"}},
		{"Australia/Lord_Howe", "2026-10-04", "45 2 * * *", []string{"2026-10-04 02:45 +1100"}},
		{"Australia/Lord_Howe", "2026-04-05", "45 1 * * *", []string{"2026-04-05 01:45 +1100"}},
		{"Australia/Lord_Howe", "2026-04-05", "15 1 * * *", []string{"2026-04-05 01:15 +1100"}},
		// Apia left out 30 December 2011.
		{"Pacific/Apia", "2011-12-29", "0 9 * * *", []string{"2011-12-29 09:00 -1000"}},
		{"Pacific/Apia", "2011-12-30", "0 9 * * *", nil},
		{"Pacific/Apia", "2011-12-31", "0 9 * * *", []string{"2011-12-31 09:00 +1400"}},
		{"Pacific/Apia", "2011-12-31", "0 0 30,31 12 *", []string{"2011-12-31 00:00 +1400"}},
		// Where the clocks go forward at midnight (Cairo, 24 April 2026), the day begins at 01:00.
		{"Africa/Cairo", "2026-04-24", "0 0 * * *", []string{"2026-04-24 01:00 +0300"}},
	} {
		loc := zone(t, c.zone)
		day, err := time.Parse(time.DateOnly, c.day)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, at := range times(parse(t, c.spec, c.zone), day.AddDate(0, 0, -3), day.AddDate(0, 0, 3)) {
			if strings.HasPrefix(at, c.day) {
				got = append(got, at)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s, %s, %q: got %v, want %v", loc, c.day, c.spec, got, c.want)
		}
	}
}

func TestEveryHourIsRealTime(t *testing.T) {
	for _, c := range []struct {
		zone, from string
		hours      int
		spec       string
		want       int
	}{
		{"America/New_York", "2026-03-08T00:00:00-05:00", 23, "0 * * * *", 23},
		{"America/New_York", "2026-11-01T00:00:00-04:00", 25, "0 * * * *", 25},
		{"America/New_York", "2026-11-01T00:00:00-04:00", 25, "*/30 * * * *", 50},
		{"Asia/Shanghai", "2026-11-01T00:00:00+08:00", 24, "0 * * * *", 24},
		{"Australia/Lord_Howe", "2026-04-05T00:00:00+11:00", 24, "*/15 * * * *", 96},
	} {
		from, err := time.Parse(time.RFC3339, c.from)
		if err != nil {
			t.Fatal(err)
		}
		if got := times(parse(t, c.spec, c.zone), from, from.Add(time.Duration(c.hours)*time.Hour)); len(got) != c.want {
			t.Errorf("%s %q: %d times, want %d: %v", c.zone, c.spec, len(got), c.want, got)
		}
	}
}

func TestLeapDay(t *testing.T) {
	s := parse(t, "0 9 29 2 *", "Asia/Shanghai")
	got := times(s, time.Date(2095, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2109, 1, 1, 0, 0, 0, 0, time.UTC))
	want := []string{"2096-02-29 09:00 +0800", "2104-02-29 09:00 +0800", "2108-02-29 09:00 +0800"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestEveryIsCountedFromItsAnchor(t *testing.T) {
	anchor := time.Date(2026, 3, 1, 10, 0, 7, 0, time.UTC)
	s, err := cronspec.Parse("@every 10m", anchor, zone(t, "America/New_York"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ after, want time.Duration }{
		{-time.Hour, 10 * time.Minute}, {0, 10 * time.Minute}, {time.Second, 10 * time.Minute},
		{10 * time.Minute, 20 * time.Minute}, {20*time.Minute - 1, 20 * time.Minute},
		{30 * 24 * time.Hour, 30*24*time.Hour + 10*time.Minute}, // over a clock change
	} {
		if got := s.Next(anchor.Add(c.after)).Sub(anchor); got != c.want {
			t.Errorf("after %v: %v, want %v", c.after, got, c.want)
		}
	}
}

// A year of each schedule, minute by minute, by counting what the clocks show.
func TestYearAgainstCounting(t *testing.T) {
	specs := []string{
		"0 9 * * 1-5", "30 2 * * *", "30 1 * * *", "*/20 0-3 * * *", "15 * * * *", "0 0 1 * *", "0 12 13 * 5",
		"5,35 */6 * * *", "0 2 * * SUN", "*/7 * 29 2 *",
	}
	for name, year := range map[string]int{
		"Asia/Shanghai": 2026, "America/New_York": 2026, "Australia/Lord_Howe": 2026, "Pacific/Apia": 2011,
		"Africa/Cairo": 2028, "UTC": 2028, "Asia/Kathmandu": 2026,
	} {
		loc := zone(t, name)
		for _, spec := range specs {
			from := time.Date(year, 1, 1, 0, 0, 0, 0, loc).Add(-time.Minute)
			until := time.Date(year+1, 1, 1, 0, 0, 0, 0, loc).Add(-time.Minute)
			got, want := times(parse(t, spec, name), from, until), counted(t, spec, from, until, loc)
			if !slices.Equal(got, want) {
				t.Errorf("%s %q: %d times, want %d; first difference %s", name, spec, len(got), len(want), difference(got, want))
			}
		}
	}
}

func difference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		g, w := "-", "-"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			return g + " instead of " + w
		}
	}
	return "none"
}

// counted looks at every minute that passes, and, where the clocks jump, at the
// minutes that they leave out.
func counted(t *testing.T, spec string, from, until time.Time, loc *time.Location) []string {
	t.Helper()
	fields := strings.Fields(spec)
	if len(fields) != 5 {
		t.Fatalf("%q is for the other test", spec)
	}
	hourly := fields[1] == "*"
	var sets [5][60]bool
	for i, field := range fields {
		for n := range sets[i] {
			sets[i][n] = inField(t, field, n)
		}
	}
	matches := func(w time.Time) bool { // w is a clock's face, as UTC
		if !sets[0][w.Minute()] || !sets[1][w.Hour()] || !sets[3][w.Month()] {
			return false
		}
		day, weekday := sets[2][w.Day()], sets[4][w.Weekday()]
		if fields[2] != "*" && fields[4] != "*" {
			return day || weekday
		}
		return day && weekday
	}
	face := func(at time.Time) time.Time { return at.UTC().Add(offsetIn(at, loc)) }
	var out []string
	shown := map[time.Time]bool{}
	before := face(from)
	for at := from.Add(time.Minute); !at.After(until); at = at.Add(time.Minute) {
		now := face(at)
		matched := matches(now)
		fires := matched && (hourly || !shown[now])
		for left := before.Add(time.Minute); !hourly && left.Before(now) && now.Sub(before) <= 24*time.Hour; left = left.Add(time.Minute) {
			fires = fires || matches(left)
		}
		if fires {
			out = append(out, at.In(loc).Format("2006-01-02 15:04 -0700"))
		}
		if matched {
			shown[now] = true
		}
		before = now
	}
	return out
}

func offsetIn(at time.Time, loc *time.Location) time.Duration {
	_, seconds := at.In(loc).Zone()
	return time.Duration(seconds) * time.Second
}

// inField reads a field in the plainest way.
func inField(t *testing.T, field string, n int) bool {
	t.Helper()
	number := func(s string) int {
		if s == "SUN" {
			return 0
		}
		v := 0
		for _, c := range s {
			v = v*10 + int(c-'0')
		}
		return v
	}
	for part := range strings.SplitSeq(field, ",") {
		rangePart, stepPart, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			step = number(stepPart)
		}
		low, high := 0, 59
		if first, last, ok := strings.Cut(rangePart, "-"); ok {
			low, high = number(first), number(last)
		} else if rangePart != "*" {
			low, high = number(rangePart), number(rangePart)
		}
		if n >= low && n <= high && (n-low)%step == 0 {
			return true
		}
	}
	return false
}

func TestNewest(t *testing.T) {
	until := time.Date(2026, 6, 1, 12, 0, 30, 0, time.UTC)
	for _, c := range []struct {
		spec  string
		after time.Time
		limit int
		want  int
		first string
	}{
		{"0 * * * *", until.Add(-3 * time.Hour), 10, 3, "2026-06-01 10:00 +0000"},
		{"0 * * * *", until.AddDate(-5, 0, 0), 10, 10, "2026-06-01 03:00 +0000"},
		{"0 9 1 1 *", until.AddDate(-5, 0, 0), 3, 3, "2024-01-01 09:00 +0000"},
		{"@every 1s", until.AddDate(-20, 0, 0), 2, 2, "2026-06-01 12:00 +0000"},
		{"0 9 * * *", until, 3, 0, ""},
		{"0 13 * * *", until.Add(-time.Hour), 3, 0, ""},
	} {
		got := parse(t, c.spec, "UTC").Newest(c.after, until, c.limit)
		first := ""
		if len(got) > 0 {
			first = got[0].Format("2006-01-02 15:04 -0700")
		}
		if len(got) != c.want || first != c.first {
			t.Errorf("%q after %v: %d from %q, want %d from %q", c.spec, c.after, len(got), first, c.want, c.first)
		}
		if !slices.IsSortedFunc(got, time.Time.Compare) || len(got) > 0 && (got[len(got)-1].After(until) || !got[0].After(c.after)) {
			t.Errorf("%q: %v is not in order within (%v, %v]", c.spec, got, c.after, until)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"0 9 * * 1-5", "@every 1s", "TZ=0", "CRON_TZ=Asia/Shanghai", "@every 1h30m", "0 0 30 2 *", "*/0 * * * *", "@", "9-1 * * * *"} {
		f.Add(seed)
	}
	loc := zone(f, "America/New_York")
	start := time.Date(2026, 3, 7, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, spec string) {
		s, err := cronspec.Parse(spec, start, loc)
		if err != nil {
			if !errors.Is(cronspec.Check(spec), err) {
				t.Errorf("%q: Check and Parse differ", spec)
			}
			return
		}
		at := start
		for range 5 {
			next := s.Next(at)
			if !next.After(at) {
				t.Fatalf("%q: %v does not come after %v", spec, next, at)
			}
			at = next
		}
	})
}
