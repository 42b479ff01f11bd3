package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// markLife is far longer than all tries of a transaction take.
const markLife = time.Hour

// costs is what is written to a message's row about what its turn cost: a line.
func costs(e *store.UsageEntry) (string, error) {
	line, err := json.Marshal(e)
	return string(line) + "\n", err
}

// AddUsage counts what no turn commits.
func (s *Store) AddUsage(ctx context.Context, entries []store.UsageEntry, spending []store.Spending) error {
	if len(entries) == 0 && len(spending) == 0 {
		return nil
	}
	var c checks
	for i := range entries {
		c.usage(&entries[i])
	}
	if c.err != nil {
		return wrap("add usage", c.err)
	}
	// No row of its own says that it was counted: a notice does, for as long as a lost
	// answer to the commit may make it run again.
	mark, until := hash("usage", models.NewID("use")), micros(s.now().Add(markLife))
	return s.write(ctx, "add usage", func(t *tx) error {
		kept, err := keptSessions(t, entries)
		if err != nil {
			return err
		}
		_, err = t.exec("INSERT INTO notices (key_hash, ends_at) VALUES (?, ?)", mark, until)
		if duplicate(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := addTotals(t, kept); err != nil {
			return err
		}
		return spend(t, spending)
	})
}

// keptSessions are the entries without the keys of sessions that were deleted. Their
// lanes are locked first: whoever deletes one afterwards finds what was counted.
func keptSessions(t *tx, entries []store.UsageEntry) ([]store.UsageEntry, error) {
	out := slices.Clone(entries)
	var sids []any
	for i := range out {
		if out[i].SessionKey != "" {
			sids = append(sids, sidOf(out[i].SessionKey))
		}
	}
	if len(sids) == 0 {
		return out, nil
	}
	in := values(1, len(sids))
	var lanes []laneRow
	if _, err := t.find(&lanes, "SELECT "+laneColumns+" FROM lanes l WHERE l.sid IN "+in+" ORDER BY l.sid {lock}", sids...); err != nil {
		return nil, err
	}
	var known []string
	if _, err := t.find(&known, "SELECT session_key FROM sessions WHERE sid IN "+in, sids...); err != nil {
		return nil, err
	}
	for _, lane := range lanes {
		if lane.DeletedSeq == 0 { // its first turn may not have been committed
			known = append(known, lane.SessionKey)
		}
	}
	for i := range out {
		if !slices.Contains(known, out[i].SessionKey) {
			out[i].SessionKey = ""
		}
	}
	return out, nil
}

func (x *sessionTx) AddUsage(e store.UsageEntry, spending []store.Spending) error {
	e.SessionKey = x.lane.SessionKey
	var c checks
	if c.usage(&e); c.err != nil {
		return c.err
	}
	if err := addTotals(x.tx, []store.UsageEntry{e}); err != nil {
		return err
	}
	return spend(x.tx, spending)
}

func (c *checks) usage(e *store.UsageEntry) {
	if e == nil {
		return
	}
	c.text("usage session", e.SessionKey, models.MaxKey)
	c.text("usage user", e.User, models.MaxKey)
	c.text("usage agent", e.AgentID, models.MaxName)
	c.text("usage model", e.Model, models.MaxForeignID)
}

// total names a row of usage_totals.
type total struct {
	kind    string
	day     int
	subject string
	model   string
}

func (t total) hash() []byte {
	if t.kind == string(store.BySession) {
		return sidOf(t.subject) // by which the rows of deleted sessions are found
	}
	return hash("usage", t.kind, t.subject)
}

const (
	totalColumns = "kind, day, subject_hash, model, subject, prompt_tokens, completion_tokens, turns, errors"
	// addToTotals is how a row is added to what is there.
	addToTotals = `{upsert kind, day, subject_hash, model} prompt_tokens = usage_totals.prompt_tokens + {new prompt_tokens},
		completion_tokens = usage_totals.completion_tokens + {new completion_tokens},
		turns = usage_totals.turns + {new turns}, errors = usage_totals.errors + {new errors}`
)

// addTotals adds to the totals, in one statement and always in the same order.
func addTotals(t *tx, entries []store.UsageEntry) error {
	sums := map[total]store.UsageCount{}
	for i := range entries {
		e := &entries[i]
		for _, of := range []struct {
			by      store.UsageBy
			subject string
		}{{store.ByDay, ""}, {store.BySession, e.SessionKey}, {store.ByAgent, e.AgentID}, {store.ByUser, e.User}} {
			if of.subject == "" && of.by != store.ByDay {
				continue
			}
			name := total{string(of.by), e.Day, of.subject, e.Model}
			sums[name] = sums[name].Add(e.UsageCount)
		}
	}
	names := slices.SortedFunc(maps.Keys(sums), func(a, b total) int {
		return cmp.Or(strings.Compare(a.kind, b.kind), cmp.Compare(a.day, b.day), strings.Compare(a.subject, b.subject), strings.Compare(a.model, b.model))
	})
	rows := make([][]any, len(names))
	for i, name := range names {
		n := sums[name]
		rows[i] = []any{name.kind, name.day, name.hash(), name.model, name.subject, n.PromptTokens, n.CompletionTokens, n.Turns, n.Errors}
	}
	for len(rows) > 0 {
		n := min(len(rows), maxBatchRows)
		if _, err := t.exec("INSERT INTO usage_totals ("+totalColumns+") VALUES "+values(n, 9)+" "+addToTotals, slices.Concat(rows[:n]...)...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// costRow is a message whose turn is not counted yet.
type costRow struct {
	ID    string
	Sid   []byte
	Seq   int64
	Costs sql.NullString
}

// SumUsage adds what turns cost to the totals, once: the transaction that counts a
// turn also takes its note away.
func (s *Store) SumUsage(ctx context.Context, batch int) (int, error) {
	batch = min(max(batch, 1), maxBatchRows)
	counted := 0
	err := s.write(ctx, "sum usage", func(t *tx) error {
		var rows []costRow
		if _, err := t.find(&rows, "SELECT id, sid, seq, costs FROM inbound WHERE costs_at > 0 ORDER BY costs_at LIMIT ? {lock}", batch); err != nil {
			return err
		}
		if counted = len(rows); counted == 0 {
			return nil
		}
		sessions, err := costSessions(t, rows)
		if err != nil {
			return err
		}
		var entries []store.UsageEntry
		ids := make([]any, len(rows))
		for i, r := range rows {
			ids[i] = r.ID
			some, err := r.entries(sessions[string(r.Sid)])
			if err != nil {
				return err
			}
			entries = append(entries, some...)
		}
		if err := addTotals(t, entries); err != nil {
			return err
		}
		_, err = t.exec("UPDATE inbound SET costs = NULL, costs_at = NULL WHERE id IN "+values(1, len(ids)), ids...)
		return err
	})
	return counted, err
}

// costSessions are the sessions of messages, by sid. A statement of its own, after the
// messages are locked: one that waited for a move would not see the session's new lane.
func costSessions(t *tx, rows []costRow) (map[string]laneRow, error) {
	sids := make([]any, 0, len(rows))
	for _, r := range rows {
		sids = append(sids, r.Sid)
	}
	var lanes []laneRow
	if _, err := t.find(&lanes, "SELECT sid, session_key, deleted_seq FROM lanes WHERE sid IN "+values(1, len(sids)), sids...); err != nil {
		return nil, err
	}
	sessions := make(map[string]laneRow, len(lanes))
	for _, l := range lanes {
		sessions[string(l.Sid)] = l
	}
	return sessions, nil
}

func (r *costRow) entries(session laneRow) ([]store.UsageEntry, error) {
	var out []store.UsageEntry
	for line := range strings.Lines(r.Costs.String) {
		var e store.UsageEntry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return nil, fmt.Errorf("costs of message %s: %w", r.ID, err)
		}
		if r.Seq > session.DeletedSeq { // of a deleted session not even the key is kept
			e.SessionKey = session.SessionKey
		}
		out = append(out, e)
	}
	return out, nil
}

// UsageTotals sums the totals of a range of days.
func (s *Store) UsageTotals(ctx context.Context, q store.UsageQuery) ([]store.UsageTotal, error) {
	if !q.By.Valid() {
		return nil, fmt.Errorf("usage by %q: %w", q.By, store.ErrInvalid)
	}
	kind, column, order := q.By, "subject", "SUM(prompt_tokens + completion_tokens) DESC, subject"
	switch q.By {
	case store.ByDay:
		column, order = "day", "day"
	case store.ByModel:
		kind, column, order = store.ByDay, "model", "SUM(prompt_tokens + completion_tokens) DESC, model"
	case store.BySession, store.ByAgent, store.ByUser:
	}
	where, args := "kind = ? AND day BETWEEN ? AND ?", []any{string(kind), q.From, q.To}
	if q.Model != "" {
		where, args = where+" AND model = ?", append(args, q.Model)
	}
	var rows []struct {
		Name                                          string
		PromptTokens, CompletionTokens, Turns, Errors int64
	}
	err := s.read(ctx, "usage totals", func(t *tx) error {
		rows = nil
		_, err := t.find(&rows, "SELECT "+column+` AS name, SUM(prompt_tokens) AS prompt_tokens, SUM(completion_tokens) AS completion_tokens,
				SUM(turns) AS turns, SUM(errors) AS errors FROM usage_totals WHERE `+where+" GROUP BY "+column+" ORDER BY "+order+" LIMIT ?",
			append(args, pageSize(q.Limit))...)
		return err
	})
	out := make([]store.UsageTotal, len(rows))
	for i, r := range rows {
		out[i].UsageCount = store.UsageCount{PromptTokens: r.PromptTokens, CompletionTokens: r.CompletionTokens, Turns: r.Turns, Errors: r.Errors}
		if q.By != store.ByDay {
			out[i].Subject = r.Name
		} else if _, err := fmt.Sscan(r.Name, &out[i].Day); err != nil {
			return nil, fmt.Errorf("usage totals: day %q: %w", r.Name, err)
		}
	}
	return out, err
}
