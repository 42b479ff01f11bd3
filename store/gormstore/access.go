package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// accessRow is a row of access_grants.
type accessRow struct {
	ID                     string
	Code                   sql.NullString
	Channel, Account, Kind string
	SubjectID              string
	Name                   sql.NullString
	UserID, ChatID         string
	State, Language        string
	RequestedAt, ExpiresAt int64
	DecidedAt              sql.NullInt64
	DecidedBy              string
}

const accessColumns = `id, code, channel, account, kind, subject_id, name, user_id, chat_id, state, language, requested_at, expires_at, decided_at, decided_by`

func (r *accessRow) model() *models.AccessGrant {
	return &models.AccessGrant{
		ID: r.ID, Code: r.Code.String, Name: r.Name.String, UserID: r.UserID, ChatID: r.ChatID,
		AccessSubject: models.AccessSubject{Channel: r.Channel, Account: r.Account, Kind: models.AccessKind(r.Kind), SubjectID: r.SubjectID},
		State:         models.AccessState(r.State), Language: r.Language,
		RequestedAt: fromMicros(r.RequestedAt), ExpiresAt: fromMicros(r.ExpiresAt), DecidedAt: timePointer(r.DecidedAt), DecidedBy: r.DecidedBy,
	}
}

func subjectHash(s models.AccessSubject) []byte {
	return hash("access", s.Channel, s.Account, string(s.Kind), s.SubjectID)
}

func (c *checks) access(g *models.AccessGrant) {
	c.id("access id", g.ID, models.MaxName)
	c.id("access code", g.Code, 32)
	c.id("access channel", g.Channel, models.MaxName)
	c.id("access account", g.Account, models.MaxName)
	c.id("access subject", g.SubjectID, models.MaxForeignID)
	c.text("access name", g.Name, models.MaxTitle)
	c.text("access user", g.UserID, models.MaxForeignID)
	c.text("access chat", g.ChatID, models.MaxForeignID)
	c.text("access language", g.Language, 8)
	if c.err == nil && g.Kind != models.AccessUser && g.Kind != models.AccessChat {
		c.err = fmt.Errorf("access kind %q: %w", g.Kind, store.ErrInvalid)
	}
}

// RequestAccess stores a request, or returns what the subject has already.
func (s *Store) RequestAccess(ctx context.Context, r *models.AccessGrant, most int) (*models.AccessGrant, bool, error) {
	var c checks
	c.access(r)
	if c.err != nil {
		return nil, false, wrap("request access", c.err)
	}
	var out *models.AccessGrant
	fresh := false
	err := s.write(ctx, "request access", func(t *tx) error {
		fresh = false
		var row accessRow
		found, err := t.find(&row, "SELECT "+accessColumns+" FROM access_grants WHERE subject_hash = ? {lock}", subjectHash(r.AccessSubject))
		if err != nil {
			return err
		}
		if found > 0 && (row.State != string(models.AccessPending) || row.ExpiresAt > micros(r.RequestedAt)) {
			out, fresh = row.model(), t.again && row.ID == r.ID
			return nil
		}
		var pending int
		if _, err := t.find(&pending, "SELECT COUNT(*) FROM access_grants WHERE state = ? AND channel = ? AND account = ? AND expires_at > ?",
			string(models.AccessPending), r.Channel, r.Account, micros(r.RequestedAt)); err != nil {
			return err
		}
		if pending >= most {
			return fmt.Errorf("%d requests are pending: %w", pending, store.ErrQueueFull)
		}
		if found > 0 {
			if _, err := t.exec("DELETE FROM access_grants WHERE subject_hash = ?", subjectHash(r.AccessSubject)); err != nil {
				return err
			}
		}
		fresh, out = true, r
		_, err = t.exec("INSERT INTO access_grants (subject_hash, "+accessColumns+") VALUES "+values(1, 16), subjectHash(r.AccessSubject),
			r.ID, r.Code, r.Channel, r.Account, string(r.Kind), r.SubjectID, r.Name, r.UserID, r.ChatID,
			string(models.AccessPending), r.Language, micros(r.RequestedAt), micros(r.ExpiresAt), nil, "")
		if duplicate(err) { // the code, or somebody else's request for the subject: the next try tells
			return fmt.Errorf("access code: %w", store.ErrExists)
		}
		return err
	})
	return out, fresh, err
}

// Approved returns those of the subjects that are approved.
func (s *Store) Approved(ctx context.Context, subjects []models.AccessSubject) ([]models.AccessSubject, error) {
	if len(subjects) == 0 {
		return nil, nil
	}
	if len(subjects) > maxIDs {
		return nil, fmt.Errorf("approved: more than %d subjects: %w", maxIDs, store.ErrTooLarge)
	}
	hashes := make([][]byte, len(subjects))
	for i, subject := range subjects {
		hashes[i] = subjectHash(subject)
	}
	var found [][]byte
	err := s.read(ctx, "approved", func(t *tx) error {
		found = nil
		_, err := t.find(&found, "SELECT subject_hash FROM access_grants WHERE state = ? AND subject_hash IN "+values(1, len(hashes)),
			append([]any{string(models.AccessApproved)}, anys(hashes)...)...)
		return err
	})
	if err != nil {
		return nil, err
	}
	approved := make(map[string]bool, len(found))
	for _, h := range found {
		approved[string(h)] = true
	}
	var out []models.AccessSubject
	for i, subject := range subjects {
		if approved[string(hashes[i])] {
			out = append(out, subject)
		}
	}
	return out, nil
}

// ListAccess returns a page, newest first.
func (s *Store) ListAccess(ctx context.Context, q store.AccessQuery) ([]*models.AccessGrant, string, error) {
	at, err := parseTextCursor(q.Cursor)
	if err != nil {
		return nil, "", wrap("list access", err)
	}
	var items []*models.AccessGrant
	next := ""
	err = s.read(ctx, "list access", func(t *tx) (err error) {
		items, next, err = listAccess(t, q, at)
		return err
	})
	return items, next, err
}

func listAccess(t *tx, q store.AccessQuery, at cursor) ([]*models.AccessGrant, string, error) {
	states := []models.AccessState{models.AccessApproved, models.AccessDenied}
	if q.State != "" {
		states = []models.AccessState{q.State}
	}
	limit := pageSize(q.Limit)
	var rows []accessRow
	for _, state := range states { // a range of one index each
		where, args := "state = ?", []any{string(state)}
		if q.Channel != "" && q.Account != "" {
			where, args = where+" AND channel = ? AND account = ?", append(args, q.Channel, q.Account)
		}
		if state == models.AccessPending {
			where, args = where+" AND expires_at > ?", append(args, micros(q.Now))
		}
		more, args := at.after("requested_at", "id", args...)
		var some []accessRow
		if _, err := t.find(&some, "SELECT "+accessColumns+" FROM access_grants WHERE "+where+more+" ORDER BY requested_at DESC, id DESC LIMIT ?",
			append(args, limit+1)...); err != nil {
			return nil, "", err
		}
		rows = append(rows, some...)
	}
	rows, next := page(rows, limit, func(r accessRow) cursor { return cursor{at: r.RequestedAt, id: r.ID} })
	items := make([]*models.AccessGrant, len(rows))
	for i := range rows {
		items[i] = rows[i].model()
	}
	return items, next, nil
}

// DecideAccess approves or denies a pending request.
func (s *Store) DecideAccess(ctx context.Context, d store.AccessDecision) (*models.AccessGrant, error) {
	var out *models.AccessGrant
	err := s.write(ctx, "decide access", func(t *tx) error {
		g, err := decideAccess(t, d)
		if err == nil {
			out = g
		}
		if t.again && out != nil && errors.Is(err, store.ErrNotFound) {
			return nil // the commit whose answer was lost took place
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func decideAccess(t *tx, d store.AccessDecision) (*models.AccessGrant, error) {
	var c checks
	c.id("access code", d.Code, models.MaxForeignID)
	c.id("decided by", d.By, 400)
	if c.err == nil && d.State != models.AccessApproved && d.State != models.AccessDenied {
		c.err = fmt.Errorf("access state %q: %w", d.State, store.ErrInvalid)
	}
	if c.err != nil {
		return nil, c.err
	}
	var row accessRow
	found, err := t.find(&row, "SELECT "+accessColumns+" FROM access_grants WHERE code = ? {lock}", d.Code)
	if err != nil {
		return nil, err
	}
	if found == 0 || row.State != string(models.AccessPending) || row.ExpiresAt <= micros(d.Now) ||
		d.Channel != "" && d.Channel != row.Channel || d.Account != "" && d.Account != row.Account {
		return nil, fmt.Errorf("access request: %w", store.ErrNotFound)
	}
	if _, err := t.exec("UPDATE access_grants SET state = ?, code = NULL, decided_at = ?, decided_by = ? WHERE code = ?",
		string(d.State), micros(d.Now), d.By, d.Code); err != nil {
		return nil, err
	}
	g := row.model()
	now := fromMicros(micros(d.Now))
	g.State, g.Code, g.DecidedAt, g.DecidedBy = d.State, "", &now, d.By
	return g, nil
}

// RemoveAccess forgets a request or grant.
func (s *Store) RemoveAccess(ctx context.Context, id string) (*models.AccessGrant, error) {
	var out *models.AccessGrant
	err := s.write(ctx, "remove access", func(t *tx) error {
		var row accessRow
		found, err := t.find(&row, "SELECT "+accessColumns+" FROM access_grants WHERE id = ? {lock}", id)
		if err != nil {
			return err
		}
		if found == 0 {
			if t.again && out != nil {
				return nil // the commit whose answer was lost took place
			}
			return fmt.Errorf("access grant: %w", store.ErrNotFound)
		}
		out = row.model()
		_, err = t.exec("DELETE FROM access_grants WHERE id = ?", id)
		return err
	})
	return out, err
}

func (x *sessionTx) DecideAccess(d store.AccessDecision) (*models.AccessGrant, error) {
	return decideAccess(x.tx, d)
}

func (x *sessionTx) PendingAccess(channel, account string, now time.Time, limit int) ([]*models.AccessGrant, error) {
	items, _, err := listAccess(x.tx, store.AccessQuery{State: models.AccessPending, Channel: channel, Account: account, Now: now, Limit: limit}, cursor{})
	return items, err
}

func (x *sessionTx) CountTry(key string, now time.Time, window time.Duration) (int, error) {
	return countTry(x.tx, key, now, window)
}
