package cronspec_test

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// documented matches a row of the table on clock changes: case, zone, day, schedule, and
// when it comes.
var documented = regexp.MustCompile(`(?m)^\| [^|]+ \| ([A-Z][A-Za-z_/]+) \| (\d{4}-\d\d-\d\d) \| ` + "`([^`]+)`" + ` \| ([^|]+) \|$`)

// What docs/tasks.md says about days on which clocks change is what happens, in both
// languages.
func TestDocumentedClockChanges(t *testing.T) {
	var both [2][]string
	for i, name := range []string{"tasks.md", "tasks.zh.md"} {
		text, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range documented.FindAllStringSubmatch(string(text), -1) {
			zone, day, spec, want := row[1], row[2], row[3], row[4]
			got := onDay(t, zone, day, spec)
			both[i] = append(both[i], zone+" "+day+" "+spec)
			count, unit, counted := strings.Cut(want, " ")
			switch {
			case want == "never" || want == "不执行":
				want = ""
			case counted && (unit == "times" || unit == "次"):
				got, want = strconv.Itoa(len(strings.Split(got, ", "))), count
			}
			if got != want {
				t.Errorf("%s: %s, %s, %q comes at %q, not %q", name, zone, day, spec, got, want)
			}
		}
	}
	if len(both[0]) < 10 || !slices.Equal(both[0], both[1]) {
		t.Errorf("the documents have rows\n\t%s\nand\n\t%s", strings.Join(both[0], "\n\t"), strings.Join(both[1], "\n\t"))
	}
}

// onDay is when a schedule comes on a day of its zone.
func onDay(t *testing.T, zone, day, spec string) string {
	t.Helper()
	date, err := time.Parse(time.DateOnly, day)
	if err != nil {
		t.Fatal(err)
	}
	var at []string
	for _, moment := range times(parse(t, spec, zone), date.AddDate(0, 0, -3), date.AddDate(0, 0, 3)) {
		if rest, ok := strings.CutPrefix(moment, day+" "); ok {
			at = append(at, rest)
		}
	}
	return strings.Join(at, ", ")
}
