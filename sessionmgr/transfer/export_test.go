package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// memory is a session in memory that notes how much is asked for at once.
type memory struct {
	s        models.Session
	slots    []*models.ContextSlot
	messages map[string][]*models.SessionMessage
	largest  int
	fail     error
}

const key = "agent:a:channel:any:scope:per_peer:api/default/u"

func (m *memory) Session(_ context.Context, k string) (*models.Session, error) {
	if k != m.s.Key {
		return nil, store.ErrNotFound
	}
	return m.s.Clone(), nil
}

func (m *memory) Slots(context.Context, string) ([]*models.ContextSlot, error) { return m.slots, nil }

func (m *memory) Messages(_ context.Context, _, slot string, before int64, limit int) ([]*models.SessionMessage, error) {
	if m.fail != nil {
		return nil, m.fail
	}
	m.largest = max(m.largest, limit)
	all := m.messages[slot]
	for before > 0 && len(all) > 0 && all[len(all)-1].Seq >= before {
		all = all[:len(all)-1]
	}
	return models.CloneMessages(all[max(0, len(all)-limit):]), nil
}

var day = time.Date(2026, 2, 3, 4, 5, 6, 123456000, time.UTC)

// newMemory holds n messages in the default slot, with gaps between their seqs.
func newMemory(n int) *memory {
	m := &memory{
		s: models.Session{
			Key: key, AgentID: "a", Channel: "api", Account: "default", Scope: models.ScopePerPeer, ScopeID: "api/default/u",
			State: models.SessionActive, Title: "Plans <2026>", MessageCount: n, CurrentSlot: models.DefaultSlot,
			CreatedAt: day, LastActivityAt: day, UpdatedAt: day, LastUserAt: day,
		},
		slots:    []*models.ContextSlot{{ID: models.DefaultSlot, SessionKey: key, Mode: models.SlotFull, Compact: true, CreatedAt: day}},
		messages: map[string][]*models.SessionMessage{},
	}
	for i := range n {
		m.add(models.DefaultSlot, &models.SessionMessage{ID: fmt.Sprint("msg_", i), Seq: int64(3*i + 7), Role: models.RoleUser, Content: fmt.Sprint("text ", i), CreatedAt: day})
	}
	return m
}

func (m *memory) add(slot string, message *models.SessionMessage) {
	message.Slot = slot
	m.messages[slot] = append(m.messages[slot], message)
}

func export(t *testing.T, m *memory, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Export(t.Context(), m, key, o, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func records(t *testing.T, text string) []Record {
	t.Helper()
	var out []Record
	for line := range strings.Lines(text) {
		var r Record
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, r)
	}
	return out
}

// Every message comes once and in order, whatever the length, in bounded pieces.
func TestExportPages(t *testing.T) {
	for _, n := range []int{0, 1, pageSize - 1, pageSize, pageSize + 1, 2 * pageSize, 5*pageSize + 3} {
		m := newMemory(n)
		lines := records(t, export(t, m, Options{Format: JSONL}))
		if len(lines) != n+4 || lines[0].Header == nil || lines[1].Session == nil || lines[2].Slot == nil {
			t.Fatalf("%d messages give %d lines", n, len(lines))
		}
		for i, r := range lines[3 : len(lines)-1] {
			if r.Message == nil || r.Message.Content != fmt.Sprint("text ", i) {
				t.Fatalf("of %d, message %d is %+v", n, i, r.Message)
			}
		}
		if end := lines[len(lines)-1].End; end == nil || *end != (Counts{1, n}) {
			t.Errorf("%d messages end with %+v", n, end)
		}
		if m.largest > pageSize {
			t.Errorf("%d messages were asked for at once", m.largest)
		}
	}
}

// rich holds something in every field, hidden ones too.
func rich() *memory {
	m := newMemory(0)
	reasoning := "because </script>"
	m.slots = append(m.slots, &models.ContextSlot{
		ID: "side", SessionKey: key, Mode: models.SlotFocused, Focused: &models.Focus{KeepSystem: true, RecentMessages: 3, SummaryOverride: "s"},
		Source: models.SlotSource{Kind: models.SlotDerived, ParentID: models.DefaultSlot, Strategy: models.DeriveFocused},
		Budget: &models.Budget{System: 1, History: 2, Tools: 3, ToolResults: 4, Reserve: 5}, MessageCount: 3, TotalTokens: 9, Current: true, CreatedAt: day,
	})
	m.add(models.DefaultSlot, &models.SessionMessage{
		ID: "msg_1", Seq: 1, Role: models.RoleUser, Content: "<b>bold</b> & \u2028 😀\n# no heading", Images: []string{"https://x.test/a.png", "data:image/png;base64,iVBORw0=", "data:image/svg+xml,<svg onload=alert(1)>", "javascript:alert(1)"},
		TokenCount: 5, SenderID: "u:1", SenderName: "Lin\nWei", PlatformMessageID: "om_1", CreatedAt: day, Observed: true,
		Quote: &models.Quote{Sender: "Wang", Text: "first\nsecond"},
	})
	m.add(models.DefaultSlot, &models.SessionMessage{
		ID: "msg_2", Seq: 2, Role: models.RoleAssistant, ToolCalls: []models.ToolCall{{ID: "c", Name: "bash", Arguments: "{\"command\":\"```\"}"}},
		Reasoning: &reasoning, CreatedAt: day,
	})
	m.add(models.DefaultSlot, &models.SessionMessage{ID: "msg_3", Seq: 3, Role: models.RoleTool, ToolCallID: "c", Content: "out ``` put", CreatedAt: day})
	m.add("side", &models.SessionMessage{ID: "msg_4", Seq: 1, Role: models.RoleSystem, Content: "sum", IsCompacted: true, CreatedAt: day})
	m.s.CompactedSummary = "what was"
	return m
}

func TestJSONLLosesNothing(t *testing.T) {
	m := rich()
	lines := records(t, export(t, m, Options{Format: JSONL}))
	if h := lines[0].Header; *h != (Header{"session", 1}) {
		t.Errorf("header is %+v", h)
	}
	session := lines[1].Session.Session
	session.LastUserAt = *lines[1].Session.LastUserAt
	if !reflect.DeepEqual(session, m.s) {
		t.Errorf("session is\n%+v, want\n%+v", session, m.s)
	}
	var slots []*models.ContextSlot
	got := map[string][]*models.SessionMessage{}
	for _, r := range lines[2:] {
		switch {
		case r.Slot != nil:
			slots = append(slots, r.Slot)
		case r.Message != nil:
			message := r.Message.SessionMessage
			message.Reasoning, message.Observed, message.Quote = r.Message.Reasoning, r.Message.Observed, r.Message.Quote
			got[message.Slot] = append(got[message.Slot], &message)
			if message.Slot != slots[len(slots)-1].ID {
				t.Errorf("message %s does not follow its slot", message.ID)
			}
		}
	}
	for _, messages := range m.messages {
		for _, message := range messages { // absent lists are exported as empty ones
			if message.Images == nil {
				message.Images = []string{}
			}
			if message.ToolCalls == nil {
				message.ToolCalls = []models.ToolCall{}
			}
		}
	}
	if !reflect.DeepEqual(slots, m.slots) || !reflect.DeepEqual(got, m.messages) {
		t.Errorf("slots or messages changed:\n%s", export(t, m, Options{Format: JSONL}))
	}
}

// What a model hides from JSON needs a field of its own here.
func TestJSONLKnowsHiddenFields(t *testing.T) {
	for _, c := range []struct{ model, line reflect.Type }{
		{reflect.TypeFor[models.SessionMessage](), reflect.TypeFor[Message]()},
		{reflect.TypeFor[models.Session](), reflect.TypeFor[Session]()},
		{reflect.TypeFor[models.ContextSlot](), reflect.TypeFor[models.ContextSlot]()},
	} {
		for f := range c.model.Fields() {
			if f.Tag.Get("json") != "-" || f.Name == "ImagesOmitted" { // which tells how it was read, not what it is
				continue
			}
			if own, ok := c.line.FieldByName(f.Name); !ok || len(own.Index) != 1 || own.Tag.Get("json") == "-" {
				t.Errorf("%s.%s is lost", c.model, f.Name)
			}
		}
	}
}

func TestExportOneSlot(t *testing.T) {
	m := rich()
	lines := records(t, export(t, m, Options{Format: JSONL, Slot: "side"}))
	if len(lines) != 5 || lines[2].Slot.ID != "side" || lines[3].Message.ID != "msg_4" || *lines[4].End != (Counts{1, 1}) {
		t.Errorf("%+v", lines)
	}
}

// What is wrong with the request is known before anything is written.
func TestExportRefuses(t *testing.T) {
	for _, c := range []struct {
		key  string
		o    Options
		want error
	}{
		{"agent:other", Options{Format: JSONL}, store.ErrNotFound},
		{key, Options{Format: HTML, Slot: "nowhere"}, ErrNoSlot},
		{key, Options{Format: "pdf"}, ErrFormat},
	} {
		var b bytes.Buffer
		if err := Export(t.Context(), rich(), c.key, c.o, &b); !errors.Is(err, c.want) || b.Len() > 0 {
			t.Errorf("%+v: %v, wrote %q", c, err, b.String())
		}
	}
	if _, err := ParseFormat("pdf"); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
	if f, err := ParseFormat(""); f != JSONL || err != nil {
		t.Error(f, err)
	}
}

type failing struct{ after int }

func (w *failing) Write(p []byte) (int, error) {
	if w.after--; w.after < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

func TestExportFails(t *testing.T) {
	for _, f := range Formats() {
		for after := range 4 {
			if err := Export(t.Context(), rich(), key, Options{Format: f}, &failing{after}); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("%s, write %d: %v", f, after, err)
			}
		}
		m := rich()
		m.fail = store.ErrUnavailable
		var b bytes.Buffer
		err := Export(t.Context(), m, key, Options{Format: f}, &b)
		if !errors.Is(err, store.ErrUnavailable) || strings.Contains(b.String(), `"end"`) {
			t.Errorf("%s: %v", f, err)
		}
	}
}

func TestMarkdown(t *testing.T) {
	got := export(t, rich(), Options{Format: Markdown})
	for _, want := range []string{
		"# Plans <2026>\n", "- Slots: default, side\n", "## Summary of earlier messages\n\nwhat was\n", "\n## Slot side\n",
		"### user Lin Wei (background), 2026-02-03 04:05:06 UTC\n\n> Wang: first\n> second\n\n<b>bold</b>", "- image: https://x.test/a.png\n",
		"- image: embedded image/png, 30 bytes", "Calls `bash`:\n\n````json\n{\"command\":\"```\"}\n````\n", "\n````\nout ``` put\n````\n", "### summary,",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "because") {
		t.Error("reasoning is shown")
	}
}

func TestHTML(t *testing.T) {
	got := export(t, rich(), Options{Format: HTML})
	for _, want := range []string{
		"<title>Plans &lt;2026&gt;</title>", "&lt;b&gt;bold&lt;/b&gt; &amp;", `<img src="data:image/png;base64,iVBORw0=" alt="">`,
		`<a href="https://x.test/a.png" rel="noreferrer">`, "<blockquote class=\"text\">Wang: first\nsecond</blockquote>", "</html>",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	for _, bad := range []string{"because", "<svg", `href="javascript`, `src="javascript`, `src="https`, "<script"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q is in\n%s", bad, got)
		}
	}
}
