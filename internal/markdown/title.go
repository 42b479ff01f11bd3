package markdown

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Title returns the first line of text that says something, without marks and at
// most n grapheme clusters long, an ellipsis included. It is empty if there is none.
func Title(text string, n int) string {
	for _, wantCode := range []bool{false, true} {
		for _, l := range scan(text) {
			switch {
			case l.kind == blank || l.kind == opener || l.kind == closer:
				continue
			case l.kind == code && !wantCode:
				continue
			}
			raw := strings.TrimSpace(text[l.start:l.end])
			if l.table != nil {
				if delimiterRow.MatchString(raw) {
					continue
				}
				raw = strings.Join(cells(raw), " ")
			}
			if s := Plain(raw); strings.Trim(s, "-=_* ") != "" {
				return truncate(s, n)
			}
		}
	}
	return ""
}

// truncate cuts s to n clusters, the last one an ellipsis if anything was cut.
func truncate(s string, n int) string {
	rest, state, at := s, -1, 0
	for i := 0; rest != ""; i++ {
		if i == n-1 {
			_, after, _, _ := uniseg.FirstGraphemeClusterInString(rest, state)
			if after != "" {
				return strings.TrimSpace(s[:at]) + "…"
			}
			return s
		}
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		at += len(cluster)
	}
	return s
}
