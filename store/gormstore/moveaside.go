package gormstore

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// moveBudgets has what was spent of a session's budgets count against another key's:
// those of today, wherever that is.
func moveBudgets(t *tx, from, to string, now time.Time) error {
	var old []any
	into := map[string][]byte{}
	for _, days := range []int{-1, 0, 1} {
		b := store.Budget{Day: store.DayOf(now.UTC().AddDate(0, 0, days)), Kind: store.BudgetSession, Subject: from}
		h := budgetHash(b)
		b.Subject = to
		old, into[string(h)] = append(old, h), budgetHash(b)
	}
	var spent []struct {
		KeyHash            []byte
		Day, Tokens, Extra int64
	}
	in := values(1, len(old))
	if _, err := t.find(&spent, "SELECT key_hash, day, tokens, extra FROM budgets WHERE key_hash IN "+in+" {lock}", old...); err != nil || len(spent) == 0 {
		return err
	}
	var rows []any
	for _, b := range spent {
		rows = append(rows, into[string(b.KeyHash)], b.Day, b.Tokens, b.Extra)
	}
	if _, err := t.exec("INSERT INTO budgets (key_hash, day, tokens, extra) VALUES "+values(len(spent), 4)+
		" {upsert key_hash} tokens = budgets.tokens + {new tokens}, extra = budgets.extra + {new extra}", rows...); err != nil {
		return err
	}
	_, err := t.exec("DELETE FROM budgets WHERE key_hash IN "+in, old...)
	return err
}

// moveMemories has texts that are not delivered yet, or may be tried again, remembered
// under another key, whoever sends them: tasks have sessions of their own.
func moveMemories(t *tx, from string, to *models.Session) error {
	ours, err := json.Marshal(from)
	if err != nil {
		return err
	}
	var theirs bytes.Buffer // databases escape less
	w := json.NewEncoder(&theirs)
	w.SetEscapeHTML(false)
	if err := w.Encode(from); err != nil {
		return err
	}
	const find = "SELECT id FROM deliveries {index deliveries_state} WHERE state IN ('pending', 'sending', 'failed', 'dead')" +
		" AND (INSTR(remember, ?) > 0 OR INSTR(remember, ?) > 0)"
	var ids []string
	if _, err := t.find(&ids, find, string(ours), strings.TrimSpace(theirs.String())); err != nil {
		return err
	}
	for len(ids) > 0 {
		n := min(len(ids), maxBatchRows)
		args := []any{to.Key, to.AgentID, string(to.Scope), to.ScopeID}
		for _, id := range ids[:n] {
			args = append(args, id)
		}
		if _, err := t.exec("UPDATE deliveries SET remember = JSON_SET(remember, '$.key', ?, '$.agentId', ?, '$.scope', ?, '$.scopeId', ?) WHERE id IN "+
			values(1, n), args...); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}
