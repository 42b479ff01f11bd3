package transfer

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// markdown writes for people who read text.
type markdown struct{ w io.Writer }

func (d *markdown) session(r *store.SessionRecord) error {
	s := &r.Session
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", oneLine(cmp.Or(s.Title, s.Key)))
	for _, f := range facts(r) {
		fmt.Fprintf(&b, "- %s: %s\n", f.Name, f.Value)
	}
	if s.CompactedSummary != "" {
		fmt.Fprintf(&b, "\n## Summary of earlier messages\n\n%s\n", s.CompactedSummary)
	}
	return d.write(b.String())
}

func (d *markdown) slot(c *store.ContextRecord) error {
	return d.write(fmt.Sprintf("\n## Slot %s\n", c.Slot.ID))
}

func (d *markdown) message(m *store.MessageRecord) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n", heading(&m.SessionMessage))
	if q := m.Quote; q != nil {
		fmt.Fprintf(&b, "\n> %s\n", strings.ReplaceAll(quoted(q), "\n", "\n> "))
	}
	if m.Content != "" {
		if m.Role == models.RoleTool {
			fence(&b, "", m.Content)
		} else {
			fmt.Fprintf(&b, "\n%s\n", m.Content)
		}
	}
	for _, image := range m.Images {
		fmt.Fprintf(&b, "\n- image: %s\n", imageName(image))
	}
	for _, c := range m.ToolCalls {
		fmt.Fprintf(&b, "\nCalls `%s`:\n", c.Name)
		fence(&b, "json", c.Arguments)
	}
	return d.write(b.String())
}

func (d *markdown) end(Counts) error { return nil }

func (d *markdown) write(s string) error {
	_, err := io.WriteString(d.w, s)
	return err
}

// fence writes a code block whose fence is longer than any in its text.
func fence(b *strings.Builder, language, text string) {
	ticks := "```"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	fmt.Fprintf(b, "\n%s%s\n%s\n%s\n", ticks, language, strings.TrimSuffix(text, "\n"), ticks)
}

// fact is one line about a session.
type fact struct{ Name, Value string }

func facts(r *store.SessionRecord) []fact {
	s := &r.Session
	return []fact{
		{"Session", s.Key},
		{"Agent", s.AgentID},
		{"State", string(s.State)},
		{"Slots", slotNames(r.Contexts)},
		{"Messages", fmt.Sprint(s.MessageCount)},
		{"Created", stamp(s.CreatedAt)},
		{"Last activity", stamp(s.LastActivityAt)},
	}
}

func slotNames(slots []*store.ContextRecord) string {
	names := make([]string, len(slots))
	for i, c := range slots {
		names[i] = c.Slot.ID
	}
	return strings.Join(names, ", ")
}

// heading says who speaks, and when.
func heading(m *models.SessionMessage) string {
	who := string(m.Role)
	switch {
	case m.IsCompacted:
		who = "summary"
	case m.SenderName != "":
		who += " " + oneLine(m.SenderName)
	}
	if m.Observed {
		who += " (background)"
	}
	return who + ", " + stamp(m.CreatedAt)
}

// quoted is what a message answers to.
func quoted(q *models.Quote) string {
	if q.Sender == "" {
		return q.Text
	}
	return oneLine(q.Sender) + ": " + q.Text
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// imageName shows a URL, but not the bytes of an embedded picture.
func imageName(url string) string {
	if kind, ok := strings.CutPrefix(url, "data:"); ok {
		kind, _, _ = strings.Cut(kind, ";")
		return fmt.Sprintf("embedded %s, %d bytes as text", kind, len(url))
	}
	return url
}
