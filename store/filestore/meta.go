package filestore

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// format and version begin every meta.json. A newer version is not read.
const (
	format  = "chatkeep session"
	version = 1
)

// meta is what meta.json holds: what no ordinary turn changes. Counts and the times of
// use follow from the messages.
type meta struct {
	Format           string                     `json:"format"`
	Version          int                        `json:"version"`
	Key              string                     `json:"key"`
	AgentID          string                     `json:"agentId"`
	Channel          string                     `json:"channel"`
	Account          string                     `json:"account"`
	Scope            models.Scope               `json:"scope"`
	ScopeID          string                     `json:"scopeId"`
	State            models.SessionState        `json:"state"`
	Title            string                     `json:"title"`
	Model            string                     `json:"model"`
	SystemPrompt     string                     `json:"systemPrompt"`
	Pinned           bool                       `json:"pinned"`
	CompactionCount  int                        `json:"compactionCount"`
	CompactedSummary string                     `json:"compactedSummary"`
	CreatedAt        time.Time                  `json:"createdAt"`
	CurrentSlot      string                     `json:"currentSlot"`
	Slots            []slotMeta                 `json:"slots"`
	Variables        map[string]json.RawMessage `json:"variables"`
}

type slotMeta struct {
	ID      string            `json:"id"`
	File    string            `json:"file"`
	Title   string            `json:"title"`
	Mode    models.SlotMode   `json:"mode"`
	Focused *models.Focus     `json:"focused"`
	Source  models.SlotSource `json:"source"`
	Budget  *models.Budget    `json:"budget"`
	Compact bool              `json:"compact"`

	CompactedThrough int64     `json:"compactedThrough"`
	SummarySeq       int64     `json:"summarySeq"`
	MergedThrough    int64     `json:"mergedThrough"`
	PrunedThrough    int64     `json:"prunedThrough"`
	CreatedAt        time.Time `json:"createdAt"`
}

func metaOf(r *store.SessionRecord) *meta {
	s := &r.Session
	m := &meta{
		Format: format, Version: version, Key: s.Key, AgentID: s.AgentID, Channel: s.Channel, Account: s.Account, Scope: s.Scope, ScopeID: s.ScopeID,
		State: s.State, Title: s.Title, Model: s.Model, SystemPrompt: s.SystemPrompt, Pinned: s.Pinned, CompactionCount: s.CompactionCount,
		CompactedSummary: s.CompactedSummary, CreatedAt: s.CreatedAt, CurrentSlot: s.CurrentSlot, Slots: []slotMeta{}, Variables: r.Variables,
	}
	for _, c := range slotsOf(r) {
		m.Slots = append(m.Slots, slotMeta{
			ID: c.Slot.ID, File: filepath.ToSlash(slotFile(c.Slot.ID)), Title: c.Slot.Title, Mode: c.Slot.Mode, Focused: c.Slot.Focused, Source: c.Slot.Source,
			Budget: c.Slot.Budget, Compact: c.Slot.Compact, CompactedThrough: c.CompactedThrough, SummarySeq: c.SummarySeq,
			MergedThrough: c.MergedThrough, PrunedThrough: c.PrunedThrough, CreatedAt: c.Slot.CreatedAt,
		})
	}
	return m
}

// slotsOf are the contexts of slots; what resets set aside has no file.
func slotsOf(r *store.SessionRecord) (out []*store.ContextRecord) {
	for _, c := range r.Contexts {
		if c.SetAsideAt.IsZero() {
			out = append(out, c)
		}
	}
	return out
}

// writeSettings writes meta.json and removes the files of slots that are no more.
func writeSettings(dir string, r *store.SessionRecord) error {
	err := writeFile(filepath.Join(dir, metaFile), func(w *bufio.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(metaOf(r))
	})
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, c := range slotsOf(r) {
		keep[slotFile(c.Slot.ID)] = true
	}
	files, err := os.ReadDir(filepath.Join(dir, slotsDir))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range files {
		if name := filepath.Join(slotsDir, f.Name()); !keep[name] {
			if err := remove(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeNotes writes the notes, if there are any.
func writeNotes(dir string, r *store.SessionRecord) error {
	path := filepath.Join(dir, memoryFile)
	if len(r.Notes) == 0 {
		return remove(path)
	}
	return writeFile(path, func(w *bufio.Writer) error {
		for _, n := range r.Notes {
			if err := writeLine(w, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// writePlan writes the plan files that there are.
func writePlan(dir string, r *store.SessionRecord) error {
	for _, name := range models.PlanFiles() {
		path := filepath.Join(dir, planDir, name)
		text, ok := r.Files[name]
		if !ok {
			if err := remove(path); err != nil {
				return err
			}
			continue
		}
		if err := makeDir(filepath.Dir(path)); err != nil {
			return err
		}
		if err := writeFile(path, func(w *bufio.Writer) error {
			_, err := w.WriteString(text)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
