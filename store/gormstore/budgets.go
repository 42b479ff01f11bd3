package gormstore

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/chatkeep/chatkeep/store"
)

func budgetHash(b store.Budget) []byte {
	return hash("budget", strconv.Itoa(b.Day), string(b.Kind), b.Subject)
}

// spend counts against budgets, always in the same order: the rows of some are wanted
// by many turns at once.
func spend(t *tx, spending []store.Spending) error {
	if len(spending) == 0 {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(spending), func(a, b store.Spending) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Subject, b.Subject))
	})
	rows := make([][]any, len(sorted))
	for i, s := range sorted {
		rows[i] = []any{budgetHash(s.Budget), s.Day, s.Tokens, 0}
	}
	_, err := t.exec("INSERT INTO budgets (key_hash, day, tokens, extra) VALUES "+values(len(rows), 4)+
		" {upsert key_hash} tokens = budgets.tokens + {new tokens}", slices.Concat(rows...)...)
	return err
}

// Spent returns what was spent of budgets.
func (s *Store) Spent(ctx context.Context, budgets []store.Budget) ([]store.Spent, error) {
	out := make([]store.Spent, len(budgets))
	err := s.read(ctx, "spent", func(t *tx) error { return spent(t, budgets, out) })
	return out, err
}

func spent(t *tx, budgets []store.Budget, out []store.Spent) error {
	if len(budgets) == 0 {
		return nil
	}
	places := map[string]int{}
	hashes := make([]any, len(budgets))
	for i, b := range budgets {
		h := budgetHash(b)
		hashes[i], places[string(h)] = h, i
	}
	var rows []struct {
		KeyHash       []byte
		Tokens, Extra int64
	}
	if _, err := t.find(&rows, "SELECT key_hash, tokens, extra FROM budgets WHERE key_hash IN "+values(1, len(hashes)), hashes...); err != nil {
		return err
	}
	for _, r := range rows {
		out[places[string(r.KeyHash)]] = store.Spent{Tokens: r.Tokens, Extra: r.Extra}
	}
	return nil
}

// AllowMore sets what a budget has beyond its limit.
func (s *Store) AllowMore(ctx context.Context, b store.Budget, extra int64) (store.Spent, error) {
	out := make([]store.Spent, 1)
	err := s.write(ctx, "allow more", func(t *tx) (err error) {
		out[0], err = allowMore(t, b, extra)
		return err
	})
	return out[0], err
}

func allowMore(t *tx, b store.Budget, extra int64) (store.Spent, error) {
	out := make([]store.Spent, 1)
	if _, err := t.exec("INSERT INTO budgets (key_hash, day, tokens, extra) VALUES (?, ?, 0, ?) {upsert key_hash} extra = {new extra}",
		budgetHash(b), b.Day, extra); err != nil {
		return out[0], err
	}
	err := spent(t, []store.Budget{b}, out)
	return out[0], err
}

func (x *sessionTx) Spent(budgets []store.Budget) ([]store.Spent, error) {
	out := make([]store.Spent, len(budgets))
	return out, spent(x.tx, budgets, out)
}

func (x *sessionTx) AllowMore(b store.Budget, extra int64) (store.Spent, error) {
	return allowMore(x.tx, b, extra)
}
