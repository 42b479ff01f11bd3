package config

import (
	"fmt"
	"slices"
	"strings"
)

// longestName bounds what is compared; no key comes near it.
const longestName = 64

// nearest returns the candidate that name was most likely meant to be, empty
// when none is near.
func nearest(name string, candidates []string) string {
	if len(name) > longestName {
		return ""
	}
	best, bestDistance := "", min(max(1, len(name)/3)+1, len(name))
	for _, c := range candidates {
		if d := distance(strings.ToLower(name), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// didYouMean is the end of a message about a wrong name: the nearest
// candidate, else all of them.
func didYouMean(name string, candidates []string) string {
	if s := nearest(name, candidates); s != "" {
		return fmt.Sprintf("did you mean %q?", s)
	}
	if len(candidates) == 0 {
		return "there is none"
	}
	return "there is " + strings.Join(candidates, ", ")
}

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours between two names (optimal string alignment).
func distance(a, b string) int {
	var before, previous []int
	current := make([]int, len(b)+1)
	for j := range current {
		current[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, previous = previous, slices.Clone(current)
		current[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], before[j-2]+1)
			}
		}
	}
	return current[len(b)]
}
