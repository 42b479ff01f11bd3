package transfer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// texts are hard to carry: escapes, what HTML and JavaScript mind, long and empty ones.
var texts = []string{
	"", "plain", "你好，世界 😀 e\u0301", "<b>&amp;\u2028\u2029</b>", "\"\\/\b\f\n\r\t\x7f\x01", "{\"message\":{}}\n", "   ", string(make([]rune, 0)), "ſİı",
}

// builder makes a session by what the program does to sessions.
type builder struct {
	t     *rapid.T
	store store.Store
	key   string
	slots []string
	n     int
	now   time.Time
}

func (b *builder) ok(err error) {
	b.t.Helper()
	if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrInvalid) && !errors.Is(err, store.ErrExists) {
		b.t.Fatal(err)
	}
}

func (b *builder) change(change func(tx store.SessionTx) error) {
	b.t.Helper()
	b.ok(b.store.ChangeSession(context.Background(), b.key, change))
}

func (b *builder) text(label string) string { return rapid.SampledFrom(texts).Draw(b.t, label) }
func (b *builder) flag(label string) bool   { return rapid.Bool().Draw(b.t, label) }
func (b *builder) slot() string             { return rapid.SampledFrom(b.slots).Draw(b.t, "slot") }

func (b *builder) tick() time.Time {
	b.now = b.now.Add(time.Duration(rapid.Int64Range(1, 1e9).Draw(b.t, "pause")) * time.Microsecond)
	return b.now
}

func (b *builder) id(prefix string) string {
	b.n++
	return fmt.Sprintf("%s_%d", prefix, b.n)
}

func (b *builder) message(role models.Role) *models.SessionMessage {
	m := &models.SessionMessage{
		ID: b.id("msg"), Role: role, Content: b.text("content"), TokenCount: rapid.IntRange(0, 5000).Draw(b.t, "tokens"), CreatedAt: b.tick(),
	}
	switch role {
	case models.RoleUser:
		m.SenderID, m.SenderName, m.PlatformMessageID, m.Observed = "u/1", b.text("name"), b.id("om"), b.flag("observed")
		if b.flag("image") {
			m.Images = []string{"https://x.test/a?b=c&d", "data:image/png;base64,iVBORw0="}
		}
		if b.flag("quote") {
			m.Quote = &models.Quote{Sender: b.text("quoted"), Text: b.text("quote")}
		}
	case models.RoleAssistant:
		m.ContextTokens = rapid.IntRange(0, 9).Draw(b.t, "context tokens")
		if b.flag("reasoning") {
			r := b.text("reasoning text")
			m.Reasoning = &r
		}
		if b.flag("calls") {
			m.ToolCalls = []models.ToolCall{{ID: b.id("call"), Name: "bash", Arguments: b.text("arguments")}, {ID: b.id("call"), Name: "skill"}}
		}
	case models.RoleTool:
		m.ToolCallID = b.id("call")
	}
	m.TokenCount += tokens.Message(m, nil)
	return m
}

// session makes a session by some random operations.
func (b *builder) session() {
	at := b.tick()
	b.ok(b.store.CreateSession(context.Background(), &models.Session{
		Key: b.key, AgentID: "a", Channel: "api", Account: "default", Scope: models.ScopePerPeer, ScopeID: b.key[len("agent:a:channel:any:scope:per_peer:"):],
		State: models.SessionActive, CreatedAt: at, LastActivityAt: at, UpdatedAt: at,
	}))
	b.slots = []string{models.DefaultSlot}
	steps := []func(){b.turn, b.turn, b.turn, b.newSlot, b.derive, b.undo, b.compact, b.prune, b.reset, b.restore, b.notebook, b.settings, b.merge, b.switchSlot, b.drop}
	for range rapid.IntRange(0, 25).Draw(b.t, "steps") {
		rapid.SampledFrom(steps).Draw(b.t, "step")()
	}
}

func (b *builder) turn() {
	slot := b.slot()
	messages := []*models.SessionMessage{b.message(models.RoleUser)}
	for _, role := range []models.Role{models.RoleAssistant, models.RoleTool, models.RoleAssistant, models.RoleSystem}[:rapid.IntRange(0, 4).Draw(b.t, "more")] {
		messages = append(messages, b.message(role))
	}
	for _, m := range messages {
		m.Slot = slot
	}
	b.ok(b.store.AppendMessages(context.Background(), b.key, messages))
}

func (b *builder) newSlot() {
	s := &models.ContextSlot{ID: b.id("Slot"), Title: b.text("title"), Mode: models.SlotFull, Source: models.SlotSource{Kind: models.SlotNew}, Compact: b.flag("compact"), CreatedAt: b.tick()}
	if b.flag("readonly") {
		s.Mode = models.SlotReadonly
	}
	if b.flag("budget") {
		s.Budget = &models.Budget{Auto: true, History: 3}
	}
	b.change(func(tx store.SessionTx) error { return tx.CreateSlot(s) })
	b.slots = append(b.slots, s.ID)
}

func (b *builder) derive() {
	parent := b.slot()
	s := &models.ContextSlot{ID: b.id("slot"), Mode: models.SlotFull, Compact: true, CreatedAt: b.tick(),
		Source: models.SlotSource{Kind: models.SlotDerived, ParentID: parent, Strategy: models.DeriveFull}}
	if b.flag("focused") {
		s.Mode, s.Source.Strategy = models.SlotFocused, models.DeriveFocused
		s.Focused = &models.Focus{KeepSystem: b.flag("keep"), RecentMessages: rapid.IntRange(0, 4).Draw(b.t, "recent"), SummaryOverride: b.text("override")}
	}
	b.change(func(tx store.SessionTx) error { return tx.DeriveSlot(s, parent) })
	b.slots = append(b.slots, s.ID)
}

func (b *builder) undo() {
	slot, at := b.slot(), b.tick()
	b.change(func(tx store.SessionTx) error { return tx.UndoTurn(slot, at) })
}

func (b *builder) compact() {
	slot, at := b.slot(), b.tick()
	through := rapid.Int64Range(1, 12).Draw(b.t, "through")
	summary := b.message(models.RoleSystem)
	b.change(func(tx store.SessionTx) error {
		generation, err := tx.Generation(slot)
		if err != nil {
			return err
		}
		return tx.Compact(slot, generation, through, summary, at)
	})
}

func (b *builder) prune() {
	slot, through := b.slot(), rapid.Int64Range(1, 12).Draw(b.t, "through")
	forms := []store.PrunedForm{{Seq: through, Pruned: "soft", Content: b.text("form")}, {Seq: 1, Pruned: "hard"}}
	b.change(func(tx store.SessionTx) error {
		if err := tx.MarkPruned(slot, through); err != nil {
			return err
		}
		return tx.Freeze(slot, forms)
	})
}

func (b *builder) drop() {
	slot, through, at := b.slot(), rapid.Int64Range(1, 4).Draw(b.t, "through"), b.tick()
	b.change(func(tx store.SessionTx) error {
		_, err := tx.DropMessages(slot, through, at)
		return err
	})
}

func (b *builder) reset() {
	slot, at := b.slot(), b.tick()
	b.change(func(tx store.SessionTx) error { return tx.Reset(slot, 0, at) })
}

func (b *builder) restore() {
	slot, at := b.slot(), b.tick()
	b.change(func(tx store.SessionTx) error { return tx.Restore(slot, 0, at) })
}

func (b *builder) merge() {
	from, into, at := b.slot(), b.slot(), b.tick()
	b.change(func(tx store.SessionTx) error {
		_, err := tx.MergeSlot(from, into, at)
		return err
	})
}

func (b *builder) switchSlot() {
	slot := b.slot()
	b.change(func(tx store.SessionTx) error { return tx.SwitchSlot(slot) })
}

func (b *builder) notebook() {
	note := &models.Note{ID: b.id("note"), Value: "v " + b.text("note"), CreatedAt: b.tick()}
	if b.flag("keyed") {
		note.Key = "key"
	}
	value := rapid.SampledFrom([]string{`null`, `1.50`, `"<&>"`, `{"b":[1,{"a":"\u2028"}],"a":""}`, `12345678901234567890`}).Draw(b.t, "value")
	b.change(func(tx store.SessionTx) error {
		if err := tx.PutNote(note); err != nil {
			return err
		}
		if err := tx.SetVariable("name "+note.Key, json.RawMessage(value)); err != nil {
			return err
		}
		return tx.PutFile("PLAN.md", note.Value)
	})
}

func (b *builder) settings() {
	title, model, pinned, at := b.text("title"), b.text("model"), b.flag("pinned"), b.tick()
	state := rapid.SampledFrom([]models.SessionState{models.SessionActive, models.SessionIdle, models.SessionCompacted, models.SessionArchived}).Draw(b.t, "state")
	b.change(func(tx store.SessionTx) error {
		s, err := tx.Session()
		if err != nil {
			return err
		}
		s.Title, s.Model, s.SystemPrompt, s.Pinned, s.State = title, model, title, pinned, state
		return tx.Update(s, at)
	})
}
