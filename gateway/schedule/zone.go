package schedule

import (
	"os"
	"strings"
	"time"
)

// ZoneName returns the IANA name of a zone. For the machine's own it is what the
// machine says; where it says nothing, "Local".
func ZoneName(loc *time.Location) string {
	if loc == nil {
		return "UTC"
	}
	if loc != time.Local { //nolint:gosmopolitan // it is asked for its name
		return loc.String()
	}
	candidates := []string{os.Getenv("TZ")}
	if link, err := os.Readlink("/etc/localtime"); err == nil {
		if _, name, ok := strings.Cut(link, "zoneinfo/"); ok {
			candidates = append(candidates, name)
		}
	}
	for _, name := range candidates {
		if _, err := time.LoadLocation(name); name != "" && err == nil {
			return name
		}
	}
	return loc.String()
}
