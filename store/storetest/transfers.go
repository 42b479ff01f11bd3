package storetest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func transferTests() []test {
	return []test{
		{"RecordHoldsEverything", transferRecord},
		{"ImportGivesTheSame", transferImport},
		{"ImportIsSeenAsAWhole", transferWhole},
		{"ImportOnce", transferOnce},
		{"ImportRefuses", transferRefuses},
		{"DiscardedIsErased", transferDiscard},
		{"ForgottenIsErased", transferForgotten},
		{"ImportedGoesOn", transferGoesOn},
		{"PagesAreBounded", transferPages},
		{"LooseRows", transferLooseRows},
	}
}

// carried is a session as it is on its way.
type carried struct {
	record   *store.SessionRecord
	messages map[string][]*store.MessageRecord // by Ref
}

// carry reads a session whole.
func (f *fixture) carry(key string) *carried {
	f.Helper()
	r, err := f.SessionRecord(f.ctx, key)
	f.ok(err)
	c := &carried{r, map[string][]*store.MessageRecord{}}
	for _, x := range r.Contexts {
		for after := int64(0); ; {
			page, err := f.MessageRecords(f.ctx, x.Ref, after, 3)
			f.ok(err)
			if len(page) == 0 {
				break
			}
			c.messages[x.Ref], after = append(c.messages[x.Ref], page...), page[len(page)-1].Seq
		}
	}
	return c
}

// text is what was carried, without what belongs to one store.
func (c *carried) text(f *fixture) string {
	f.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	r := *c.record
	r.Contexts = nil
	for _, x := range c.record.Contexts {
		without := *x
		without.Ref = ""
		r.Contexts = append(r.Contexts, &without)
	}
	f.ok(e.Encode(r))
	for _, x := range c.record.Contexts {
		f.ok(e.Encode(c.messages[x.Ref]))
	}
	return b.String()
}

// bring imports what was carried, up to its commit.
func (f *fixture) bring(ctx context.Context, c *carried) (in store.SessionImport, err error) {
	if in, err = f.ImportSession(ctx, c.record.Session.Key); err != nil {
		return nil, err
	}
	for _, x := range c.record.Contexts {
		if err := in.Context(ctx, x); err != nil {
			return in, err
		}
		for page := range slices.Chunk(c.messages[x.Ref], 2) {
			if err := in.Messages(ctx, page); err != nil {
				return in, err
			}
		}
	}
	return in, nil
}

func (f *fixture) imports(c *carried) error {
	in, err := f.bring(f.ctx, c)
	if err == nil {
		err = in.Commit(f.ctx, c.record)
	}
	return err
}

// everything makes a session with something of everything.
func (f *fixture) everything(key string) {
	f.Helper()
	f.turn(key, "one")
	f.turn(key, "two")
	f.turn(key, "three")
	f.slot(key, "work", "note")
	f.slot(key, "aside", "old")
	f.reset(key, "aside")
	f.derive(key, models.DefaultSlot, "copy", models.DeriveFull, nil)
	f.notebook(key, "kept")
	f.compact(key, models.DefaultSlot, 2, "summary")
	f.freeze(key, models.DefaultSlot, store.PrunedForm{Seq: 4, Pruned: "soft", Content: "short"})
	f.change(key, func(tx store.SessionTx) error {
		if err := tx.UndoTurn(models.DefaultSlot, f.now); err != nil {
			return err
		}
		if err := tx.MarkPruned(models.DefaultSlot, 3); err != nil {
			return err
		}
		s, err := tx.Session()
		if err != nil {
			return err
		}
		s.Title, s.Pinned, s.State = "标题", true, models.SessionIdle
		if err := tx.Update(s, f.now); err != nil {
			return err
		}
		return tx.SwitchSlot("work")
	})
}

func transferRecord(f *fixture) {
	key := f.key()
	_, err := f.SessionRecord(f.ctx, key)
	f.fails(err, store.ErrNotFound)
	_, err = f.MessageRecords(f.ctx, "no context", 0, 1)
	f.fails(err, store.ErrInvalid)
	f.everything(key)
	c := f.carry(key)
	var names, texts []string
	for _, x := range c.record.Contexts {
		name := x.Slot.ID
		if !x.SetAsideAt.IsZero() {
			name += " set aside"
		}
		names = append(names, name)
		for _, m := range c.messages[x.Ref] {
			text := m.Content
			if m.Undone {
				text += " undone"
			}
			if m.Form != nil {
				text += " as " + m.Form.Content
			}
			texts = append(texts, text)
		}
	}
	equal(f, "contexts", names, []string{"default", "work", "aside", "copy", "aside set aside"})
	equal(f, "messages", texts, []string{
		"to one", "one", "to two", "two as short", "to three undone", "three undone", "summary", "note", "to one", "one", "to two", "two", "to three", "three", "old",
	})
	d := c.record.Contexts[0]
	equal(f, "compaction", []int64{d.CompactedThrough, d.SummarySeq, d.NextSeq, d.PrunedThrough}, []int64{2, 7, 8, 3})
	equal(f, "merged", c.record.Contexts[3].MergedThrough, int64(6))
	equal(f, "turns", c.messages[d.Ref][3].Turn, int64(3))
	equal(f, "notes", len(c.record.Notes), len(f.notes(key, 100)))
	equal(f, "variables", len(c.record.Variables), len(f.variables(key)))
	equal(f, "files", c.record.Files["PLAN.md"], f.file(key, "PLAN.md"))
}

func transferImport(f *fixture) {
	key := f.key()
	f.everything(key)
	c := f.carry(key)
	want := c.text(f)
	shown := f.context(key, models.DefaultSlot)
	messages, tokens := f.live(key, models.DefaultSlot)
	f.delete(key)
	f.eraseAll()
	f.ok(f.imports(c))
	equal(f, "session", f.carry(key).text(f), want)
	equal(f, "context", f.context(key, models.DefaultSlot), shown)
	gotMessages, gotTokens := f.live(key, models.DefaultSlot)
	equal(f, "live messages", gotMessages, messages)
	equal(f, "live tokens", gotTokens, tokens)
	f.counted(key)
	f.change(key, func(tx store.SessionTx) error { return tx.Restore("aside", 0, f.now) })
	equal(f, "restored", f.history(key, "aside"), []string{"old"})
}

func transferWhole(f *fixture) {
	from, key := f.key(), f.key()
	f.everything(from)
	c := f.carry(from)
	c.record.Session.Key = key
	in, err := f.bring(f.ctx, c)
	f.ok(err)
	_, err = f.Session(f.ctx, key)
	f.fails(err, store.ErrNotFound)
	f.ok(in.Commit(f.ctx, c.record))
	f.ok(in.Discard(f.ctx)) // too late
	equal(f, "messages", f.session(key).MessageCount, f.session(from).MessageCount)
	f.eraseAll()
	equal(f, "history", f.history(key, "copy"), f.history(from, "copy"))
}

func transferOnce(f *fixture) {
	from, key := f.key(), f.key()
	f.everything(from)
	c := f.carry(from)
	c.record.Session.Key = key
	const racers = 4
	errs := make([]error, racers)
	race(racers, func(i int) { errs[i] = f.imports(c) })
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			f.fails(err, store.ErrExists)
		}
	}
	equal(f, "imports", won, 1)
	f.fails(f.imports(c), store.ErrExists)
	equal(f, "history", f.history(key, "work"), []string{"note"})
}

func transferRefuses(f *fixture) {
	from, key := f.key(), f.key()
	f.everything(from)
	for what, c := range map[string]struct {
		spoil func(c *carried)
		want  error
	}{
		"text that is no text":   {func(c *carried) { c.messages[c.record.Contexts[0].Ref][0].Content = "\x00" }, store.ErrInvalid},
		"a form that is no text": {func(c *carried) { c.messages[c.record.Contexts[0].Ref][3].Form.Content = "\xff" }, store.ErrInvalid},
		"large text": {func(c *carried) {
			c.messages[c.record.Contexts[0].Ref][0].Content = strings.Repeat("x", models.MaxContent+1)
		}, store.ErrTooLarge},
		"seqs that fall":   {func(c *carried) { c.messages[c.record.Contexts[0].Ref][1].Seq = 1 }, store.ErrInvalid},
		"seqs to come":     {func(c *carried) { c.messages[c.record.Contexts[0].Ref][6].Seq = 8 }, store.ErrInvalid},
		"turns to come":    {func(c *carried) { c.messages[c.record.Contexts[0].Ref][1].Turn = 3 }, store.ErrInvalid},
		"no next seq":      {func(c *carried) { c.record.Contexts[1].NextSeq = 0 }, store.ErrInvalid},
		"a summary ahead":  {func(c *carried) { c.record.Contexts[1].SummarySeq = 2 }, store.ErrInvalid},
		"no default slot":  {func(c *carried) { c.record.Contexts[0].Slot.ID = "other" }, store.ErrInvalid},
		"a slot twice":     {func(c *carried) { c.record.Contexts[1].Slot.ID = "copy" }, store.ErrInvalid},
		"no current slot":  {func(c *carried) { c.record.Session.CurrentSlot = "nowhere" }, store.ErrInvalid},
		"no state":         {func(c *carried) { c.record.Session.State = "" }, store.ErrInvalid},
		"a note twice":     {func(c *carried) { c.record.Notes = append(c.record.Notes, c.record.Notes[0]) }, store.ErrInvalid},
		"a large note":     {func(c *carried) { c.record.Notes[0].Value = strings.Repeat("x", models.MaxNote+1) }, store.ErrTooLarge},
		"no JSON":          {func(c *carried) { c.record.Variables["x"] = json.RawMessage("{") }, store.ErrInvalid},
		"a strange file":   {func(c *carried) { c.record.Files["x"] = "" }, store.ErrInvalid},
		"too long a title": {func(c *carried) { c.record.Session.Title = strings.Repeat("x", models.MaxTitle+1) }, store.ErrTooLarge},
	} {
		spoilt := f.carry(from)
		spoilt.record.Session.Key = key
		c.spoil(spoilt)
		if err := f.imports(spoilt); err == nil {
			f.Fatalf("%s: taken", what)
		} else {
			f.fails(err, c.want)
		}
		_, err := f.Session(f.ctx, key)
		f.fails(err, store.ErrNotFound)
	}
	in, err := f.ImportSession(f.ctx, key)
	f.ok(err)
	f.fails(in.Messages(f.ctx, f.carry(from).messages[f.carry(from).record.Contexts[0].Ref]), store.ErrInvalid)
	_, err = f.ImportSession(f.ctx, "")
	f.fails(err, store.ErrInvalid)
}

// large is a session whose messages cannot be held in memory until it is committed.
func (f *fixture) large(key string) *carried {
	f.Helper()
	from := f.key()
	f.create(from, "one")
	c := f.carry(from)
	c.record.Session.Key = key
	x := c.record.Contexts[0]
	first := c.messages[x.Ref][0]
	for i := range int64(1200) {
		m := *first
		m.Seq, m.ID = i+2, f.id("msg")
		c.messages[x.Ref] = append(c.messages[x.Ref], &m)
	}
	x.NextSeq = 1202
	return c
}

// swept removes what nothing reaches, and returns how many messages these were.
func (f *fixture) swept(now time.Time) (n int) {
	f.Helper()
	for {
		s, err := f.Sweep(f.ctx, now, store.Retention{}, 1000)
		f.ok(err)
		if s.Messages == 0 {
			return n
		}
		n += s.Messages
	}
}

func transferDiscard(f *fixture) {
	key := f.key()
	c := f.large(key)
	in, err := f.bring(f.ctx, c)
	f.ok(err)
	equal(f, "swept while it goes on", f.swept(f.now), 0)
	f.ok(in.Discard(f.ctx))
	f.ok(in.Discard(f.ctx))
	if n := f.swept(f.now); n < 600 {
		f.Fatalf("%d messages were swept", n)
	}
	f.fails(in.Commit(f.ctx, c.record), store.ErrInvalid)
	f.ok(f.imports(c))
	equal(f, "swept", f.swept(f.now), 0)
	equal(f, "messages", f.session(key).MessageCount, 1201)
}

// What nobody commits or discards is erased when it is old.
func transferForgotten(f *fixture) {
	key := f.key()
	c := f.large(key)
	in, err := f.bring(f.ctx, c)
	f.ok(err)
	if n := f.swept(f.at(25 * time.Hour)); n < 600 {
		f.Fatalf("%d messages were swept", n)
	}
	f.fails(in.Commit(f.ctx, c.record), store.ErrConflict)
	_, err = f.Session(f.ctx, key)
	f.fails(err, store.ErrNotFound)
}

// An imported session is like any other, also where something was said before it came.
func transferGoesOn(f *fixture) {
	from, key := f.key(), f.key()
	f.everything(from)
	waits := f.waiting(key)
	c := f.carry(from)
	c.record.Session.Key = key
	f.ok(f.imports(c))
	f.commit(f.answer(f.begin(f.claimLane(claim())), "more"))
	f.state(models.InboundDone, waits.ID)
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to one", "one", "to two", "two", "summary", "to more", "more"})
	f.turn(key, "again") // in the slot that was current
	equal(f, "history", f.history(key, "work"), []string{"note", "to again", "again"})
	f.counted(key)
	f.change(key, func(tx store.SessionTx) error { return tx.Reset("aside", 0, f.now) })
	f.delete(key)
	f.eraseAll()
	equal(f, "the other", f.history(from, "work"), []string{"note"})
}

func transferPages(f *fixture) {
	key := f.key()
	f.create(key)
	var all []*models.SessionMessage
	for range 4 {
		m := f.said(models.RoleUser, strings.Repeat("语", 1<<20))
		all = append(all, m)
	}
	for _, m := range all {
		f.ok(f.AppendMessages(f.ctx, key, []*models.SessionMessage{m}))
	}
	r, err := f.SessionRecord(f.ctx, key)
	f.ok(err)
	page, err := f.MessageRecords(f.ctx, r.Contexts[0].Ref, 0, 100)
	f.ok(err)
	if n := len(page); n == 0 || n == len(all) {
		f.Fatalf("%d of %d large messages are a page", n, len(all))
	}
	equal(f, "messages", len(f.carry(key).messages[r.Contexts[0].Ref]), len(all))
}

func transferLooseRows(f *fixture) {
	f.accept(f.message(f.key()))
	f.ok(f.CreateTask(f.ctx, &models.Task{ID: "loose", Owner: models.OwnerAdmin, Schedule: "@every 1h", Prompt: "go", CreatedAt: f.now}))
	seen := map[string]int{}
	f.ok(f.LooseRows(f.ctx, func(page []store.LooseRow) error {
		added, err := f.PutLooseRows(f.ctx, page)
		f.ok(err)
		equal(f, "added", added, 0) // they are there
		for _, row := range page {
			equal(f, "values", len(row.Values), len(row.Columns))
			seen[row.Table]++
		}
		return nil
	}))
	if seen["tasks"] == 0 || seen["dedup"] == 0 {
		f.Fatalf("loose rows are %v", seen)
	}
	_, err := f.PutLooseRows(f.ctx, []store.LooseRow{{Table: "nothing"}})
	f.fails(err, store.ErrInvalid)
}

func prepareImport(f *fixture, s *scene) func() error {
	c := f.carry(s.key)
	f.delete(s.key)
	return func() error { return f.imports(c) }
}
