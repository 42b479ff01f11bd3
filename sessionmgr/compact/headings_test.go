package compact

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestArrange(t *testing.T) {
	empty := strings.Join(Headings(), "\n")
	for name, c := range map[string]struct{ in, want string }{
		"nothing":     {"", empty},
		"as asked":    {"## Decisions\n- go\n\n## Open tasks\n- test\n## Constraints\n## Pending asks\n## Exact identifiers\n- A-1\n", "## Decisions\n- go\n## Open tasks\n- test\n## Constraints\n## Pending asks\n## Exact identifiers\n- A-1"},
		"no headings": {"They met.", "They met.\n" + empty},
		"some lacking, another order, dressed otherwise": {
			"Intro\n**Open Tasks:**\n1. a\n# decisions\nwe do\n### PENDING ASKS\nask",
			"Intro\n## Decisions\nwe do\n## Open tasks\n1. a\n## Constraints\n## Pending asks\nask\n## Exact identifiers",
		},
		"its own heading":    {"## Decisions\na\n## People\nAnn\n", "## Decisions\na\n## People\nAnn\n## Open tasks\n## Constraints\n## Pending asks\n## Exact identifiers"},
		"fenced":             {"```markdown\n## Decisions\r\na\n```", "## Decisions\na\n## Open tasks\n## Constraints\n## Pending asks\n## Exact identifiers"},
		"a fence inside":     {"```\na\n```\nb\n```\nc\n```", "```\na\n```\nb\n```\nc\n```\n" + empty},
		"the words as words": {"Constraints\nare words", "Constraints\nare words\n" + empty},
		"twice":              {"## Decisions\na\n## Open tasks\nb\n## Decisions\nc", "## Decisions\na\nc\n## Open tasks\nb\n## Constraints\n## Pending asks\n## Exact identifiers"},
	} {
		if got := arrange(c.in); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, c.want)
		}
	}
}

func TestArrangeOnceIsEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom(append(Headings(), "text", "", "- item", "**Open tasks**")), 0, 12).Draw(t, "lines")
		got := arrange(strings.Join(lines, "\n"))
		at := -1
		for _, h := range Headings() {
			next := strings.Index("\n"+got+"\n", "\n"+h+"\n")
			if next <= at || strings.Count("\n"+got+"\n", "\n"+h+"\n") != 1 {
				t.Fatalf("%q is not there once and in its place:\n%s", h, got)
			}
			at = next
		}
		if again := arrange(got); again != got {
			t.Fatalf("again:\n%s\nfirst:\n%s", again, got)
		}
	})
}
