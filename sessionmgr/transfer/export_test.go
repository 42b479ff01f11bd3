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
	record   store.SessionRecord
	messages map[string][]*store.MessageRecord // by context
	largest  int
	fail     error
}

const sessionKey = "agent:a:channel:any:scope:per_peer:api/default/u"

func (m *memory) Session(_ context.Context, k string) (*models.Session, error) {
	if k != m.record.Session.Key {
		return nil, store.ErrNotFound
	}
	return m.record.Session.Clone(), nil
}

func (m *memory) SessionRecord(_ context.Context, k string) (*store.SessionRecord, error) {
	if k != m.record.Session.Key {
		return nil, store.ErrNotFound
	}
	r := m.record
	return &r, nil
}

func (m *memory) MessageRecords(_ context.Context, ref string, after int64, limit int) (out []*store.MessageRecord, err error) {
	m.largest = max(m.largest, limit)
	for _, message := range m.messages[ref] {
		if message.Seq > after && len(out) < limit {
			c := *message
			out = append(out, &c)
		}
	}
	return out, m.fail
}

var day = time.Date(2026, 2, 3, 4, 5, 6, 123456000, time.UTC)

// newMemory holds n messages in the default slot, with gaps between their seqs.
func newMemory(n int) *memory {
	m := &memory{
		record: store.SessionRecord{Session: models.Session{
			Key: sessionKey, AgentID: "a", Channel: "api", Account: "default", Scope: models.ScopePerPeer, ScopeID: "api/default/u",
			State: models.SessionActive, Title: "Plans <2026>", MessageCount: n, CurrentSlot: models.DefaultSlot,
			CreatedAt: day, LastActivityAt: day, UpdatedAt: day, LastUserAt: day,
		}},
		messages: map[string][]*store.MessageRecord{},
	}
	m.slot(&store.ContextRecord{NextSeq: 1 << 20, Slot: models.ContextSlot{ID: models.DefaultSlot, Mode: models.SlotFull, Compact: true}})
	for i := range n {
		m.add(models.DefaultSlot, &store.MessageRecord{Turn: 1, SessionMessage: models.SessionMessage{
			ID: fmt.Sprint("msg_", i), Seq: int64(3*i + 7), Role: models.RoleUser, Content: fmt.Sprint("text ", i), CreatedAt: day}})
	}
	return m
}

func (m *memory) slot(c *store.ContextRecord) {
	c.Ref, c.Slot.SessionKey, c.Slot.CreatedAt = c.Slot.ID, sessionKey, day
	m.record.Contexts = append(m.record.Contexts, c)
}

func (m *memory) add(slot string, message *store.MessageRecord) {
	m.messages[slot] = append(m.messages[slot], message)
}

func export(t *testing.T, m *memory, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Export(t.Context(), m, sessionKey, o, &b); err != nil {
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
	m.slot(&store.ContextRecord{Slot: models.ContextSlot{
		ID: "side", Title: "Side", Mode: models.SlotFocused, Focused: &models.Focus{KeepSystem: true, RecentMessages: 3, SummaryOverride: "s"},
		Source: models.SlotSource{Kind: models.SlotDerived, ParentID: models.DefaultSlot, Strategy: models.DeriveFocused},
		Budget: &models.Budget{System: 1, History: 2, Tools: 3, ToolResults: 4, Reserve: 5}, MessageCount: 3, TotalTokens: 9, Current: true,
	}, NextSeq: 5, SummarySeq: 1, CompactedThrough: 2, MergedThrough: 3, PrunedThrough: 4, ModelAt: day.Add(time.Hour), ShownFrom: 3, ResultsFrom: 4})
	m.add(models.DefaultSlot, &store.MessageRecord{Turn: 1, SessionMessage: models.SessionMessage{
		ID: "msg_1", Seq: 1, Role: models.RoleUser, Content: "<b>bold</b> & \u2028 😀\n# no heading", Images: []string{"https://x.test/a.png", "data:image/png;base64,iVBORw0=", "data:image/svg+xml,<svg onload=alert(1)>", "javascript:alert(1)"},
		TokenCount: 5, SenderID: "u:1", SenderName: "Lin\nWei", PlatformMessageID: "om_1", CreatedAt: day, Observed: true,
		Quote: &models.Quote{Sender: "Wang", Text: "first\nsecond"},
	}})
	m.add(models.DefaultSlot, &store.MessageRecord{Turn: 1, SessionMessage: models.SessionMessage{
		ID: "msg_2", Seq: 2, Role: models.RoleAssistant, ToolCalls: []models.ToolCall{{ID: "c", Name: "bash", Arguments: "{\"command\":\"```\"}"}},
		Reasoning: &reasoning, CreatedAt: day,
	}})
	m.add(models.DefaultSlot, &store.MessageRecord{
		Turn: 1, Form: &store.PrunedForm{Seq: 3, Pruned: "soft", Content: "short"},
		SessionMessage: models.SessionMessage{ID: "msg_3", Seq: 3, Role: models.RoleTool, ToolCallID: "c", Content: "out ``` put", CreatedAt: day},
	})
	m.add(models.DefaultSlot, &store.MessageRecord{
		Turn: 4, Undone: true, SessionMessage: models.SessionMessage{ID: "msg_5", Seq: 4, Role: models.RoleUser, Content: "taken back", CreatedAt: day},
	})
	m.add("side", &store.MessageRecord{Turn: 1, SessionMessage: models.SessionMessage{
		ID: "msg_4", Seq: 1, Role: models.RoleSystem, Content: "sum", IsCompacted: true, CreatedAt: day}})
	m.record.Session.CompactedSummary = "what was"
	m.record.Notes = []*models.Note{{ID: "note_1", Key: "k", Value: "v", CreatedAt: day}}
	m.record.Variables = map[string]json.RawMessage{"b": json.RawMessage(`{"x":1.0}`), "a": json.RawMessage(`null`)}
	m.record.Files = map[string]string{"PLAN.md": "# plan"}
	return m
}

func TestJSONLLosesNothing(t *testing.T) {
	m := rich()
	lines := records(t, export(t, m, Options{Format: JSONL, Whole: true}))
	if h := lines[0].Header; *h != (Header{"session", 1}) {
		t.Errorf("header is %+v", h)
	}
	got := store.SessionRecord{Session: lines[1].Session.Session, Variables: map[string]json.RawMessage{}, Files: map[string]string{}}
	got.Session.LastUserAt = *lines[1].Session.LastUserAt
	messages := map[string][]*store.MessageRecord{}
	for _, r := range lines[2:] {
		switch {
		case r.Variable != nil:
			got.Variables[r.Variable.Name] = r.Variable.Value
		case r.Note != nil:
			got.Notes = append(got.Notes, r.Note)
		case r.File != nil:
			got.Files[r.File.Name] = r.File.Content
		case r.Slot != nil:
			c := r.Slot.record()
			c.Ref = c.Slot.ID
			got.Contexts = append(got.Contexts, c)
		case r.Message != nil:
			messages[r.Message.Slot] = append(messages[r.Message.Slot], r.Message)
		}
	}
	for slot, list := range m.messages {
		for _, message := range list { // absent lists are exported as empty ones
			message.Slot = slot
			if message.Images == nil {
				message.Images = []string{}
			}
			if message.ToolCalls == nil {
				message.ToolCalls = []models.ToolCall{}
			}
		}
	}
	if !reflect.DeepEqual(got, m.record) || !reflect.DeepEqual(messages, m.messages) {
		t.Errorf("something changed:\n%s", export(t, m, Options{Format: JSONL, Whole: true}))
	}
}

// What was undone, and what a reset set aside, is for copies alone.
func TestExportLeavesOutWhatIsSetAside(t *testing.T) {
	m := rich()
	m.slot(&store.ContextRecord{Slot: models.ContextSlot{ID: "old"}, NextSeq: 2, SetAsideAt: day})
	m.add("old", &store.MessageRecord{Turn: 1, SessionMessage: models.SessionMessage{ID: "msg_6", Seq: 1, Role: models.RoleUser, Content: "set aside", CreatedAt: day}})
	for _, f := range Formats() {
		if got := export(t, m, Options{Format: f, Whole: f != JSONL}); strings.Contains(got, "taken back") || strings.Contains(got, "set aside") {
			t.Errorf("%s holds\n%s", f, got)
		}
	}
	if got := export(t, m, Options{Format: JSONL, Whole: true}); !strings.Contains(got, "taken back") || !strings.Contains(got, "set aside") {
		t.Errorf("a whole export is\n%s", got)
	}
}

// What a model hides from JSON needs a field of its own here.
func TestJSONLKnowsHiddenFields(t *testing.T) {
	for _, c := range []struct{ model, line reflect.Type }{
		{reflect.TypeFor[models.Session](), reflect.TypeFor[Session]()},
		{reflect.TypeFor[models.ContextSlot](), reflect.TypeFor[Slot]()},
		{reflect.TypeFor[models.Note](), reflect.TypeFor[models.Note]()},
	} {
		for f := range c.model.Fields() {
			if f.Tag.Get("json") != "-" {
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
	if n := len(lines); n != 9 || lines[6].Slot.ID != "side" || lines[7].Message.ID != "msg_4" || *lines[8].End != (Counts{1, 1}) {
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
		{sessionKey, Options{Format: HTML, Slot: "nowhere"}, ErrNoSlot},
		{sessionKey, Options{Format: "pdf"}, ErrFormat},
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
			if err := Export(t.Context(), rich(), sessionKey, Options{Format: f}, &failing{after}); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("%s, write %d: %v", f, after, err)
			}
		}
		m := rich()
		m.fail = store.ErrUnavailable
		var b bytes.Buffer
		err := Export(t.Context(), m, sessionKey, Options{Format: f}, &b)
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
