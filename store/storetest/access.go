package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func accessTests() []test {
	return []test{
		{"RequestedOnce", accessOnce},
		{"RacingRequestsAreOne", accessRace},
		{"Expires", accessExpires},
		{"Bounded", accessBounded},
		{"CodesAreUnique", accessCodes},
		{"Approved", accessApproved},
		{"Denied", accessDenied},
		{"DecidedOnceByCode", accessDecided},
		{"DecidedByACommand", accessCommand},
		{"Removed", accessRemoved},
		{"Lists", accessLists},
		{"SweptWhenExpired", accessSwept},
		{"ToldOnce", toldOnce},
		{"ToldOnceByOne", toldRace},
		{"TriesAreCounted", triesCounted},
	}
}

func subject(id string) models.AccessSubject {
	return models.AccessSubject{Channel: "feishu", Account: "main", Kind: models.AccessUser, SubjectID: id}
}

// request makes a request for access that expires after an hour.
func (f *fixture) request(s models.AccessSubject) *models.AccessGrant {
	id := f.id("acc")
	return &models.AccessGrant{
		ID: id, AccessSubject: s, Code: "P-" + id[len(id)-8:], Name: "李雷", UserID: s.SubjectID, ChatID: "oc_1",
		State: models.AccessPending, Language: "zh", RequestedAt: f.now, ExpiresAt: f.at(time.Hour),
	}
}

func (f *fixture) requested(s models.AccessSubject) *models.AccessGrant {
	f.Helper()
	g, fresh, err := f.RequestAccess(f.ctx, f.request(s), 100)
	f.ok(err)
	equal(f, "fresh", fresh, true)
	return g
}

func (f *fixture) decideAccess(code string, state models.AccessState) *models.AccessGrant {
	f.Helper()
	g, err := f.DecideAccess(f.ctx, store.AccessDecision{Code: code, State: state, By: "admin", Now: f.now})
	f.ok(err)
	return g
}

func (f *fixture) access(q store.AccessQuery) []string {
	f.Helper()
	q.Now = f.now
	items, _, err := f.ListAccess(f.ctx, q)
	f.ok(err)
	var out []string
	for _, g := range items {
		out = append(out, g.SubjectID)
	}
	return out
}

func accessOnce(f *fixture) {
	first := f.requested(subject("ou_1"))
	items, _, err := f.ListAccess(f.ctx, store.AccessQuery{State: models.AccessPending, Now: f.now})
	f.ok(err)
	equal(f, "stored", items, []*models.AccessGrant{first})
	got, fresh, err := f.RequestAccess(f.ctx, f.request(subject("ou_1")), 100)
	f.ok(err)
	equal(f, "fresh", fresh, false)
	equal(f, "request", got, first)
	other := subject("ou_1")
	other.Account = "second"
	f.requested(other)
	group := subject("ou_1")
	group.Kind = models.AccessChat
	f.requested(group)
}

func accessRace(f *fixture) {
	codes := make([]string, 8)
	var fresh sync.Map
	race(len(codes), func(i int) {
		g, isFresh, err := f.RequestAccess(f.ctx, f.request(subject("ou_1")), 100)
		for errors.Is(err, store.ErrExists) { // another one was first
			g, isFresh, err = f.RequestAccess(f.ctx, f.request(subject("ou_1")), 100)
		}
		f.ok(err)
		codes[i] = g.Code
		if isFresh {
			fresh.Store(i, true)
		}
	})
	slices.Sort(codes)
	equal(f, "codes", len(slices.Compact(codes)), 1)
	n := 0
	fresh.Range(func(any, any) bool { n++; return true })
	equal(f, "fresh requests", n, 1)
}

func accessExpires(f *fixture) {
	first := f.requested(subject("ou_1"))
	_, err := f.DecideAccess(f.ctx, store.AccessDecision{Code: first.Code, State: models.AccessApproved, By: "admin", Now: f.at(time.Hour)})
	f.fails(err, store.ErrNotFound)
	later := f.request(subject("ou_1"))
	later.RequestedAt, later.ExpiresAt = f.at(time.Hour), f.at(2*time.Hour)
	got, fresh, err := f.RequestAccess(f.ctx, later, 100)
	f.ok(err)
	equal(f, "fresh", fresh, true)
	equal(f, "request", got, later)
	_, err = f.DecideAccess(f.ctx, store.AccessDecision{Code: first.Code, State: models.AccessApproved, By: "admin", Now: f.now})
	f.fails(err, store.ErrNotFound)
}

func accessBounded(f *fixture) {
	for i := range 3 {
		f.requested(subject(fmt.Sprint("ou_", i)))
	}
	_, _, err := f.RequestAccess(f.ctx, f.request(subject("ou_9")), 3)
	f.fails(err, store.ErrQueueFull)
	other := subject("ou_9")
	other.Account = "second"
	_, _, err = f.RequestAccess(f.ctx, f.request(other), 3)
	f.ok(err)
	late := f.request(subject("ou_9"))
	late.RequestedAt, late.ExpiresAt = f.at(2*time.Hour), f.at(3*time.Hour) // the others have expired
	_, _, err = f.RequestAccess(f.ctx, late, 3)
	f.ok(err)
}

func accessCodes(f *fixture) {
	first := f.requested(subject("ou_1"))
	second := f.request(subject("ou_2"))
	second.Code = first.Code
	_, _, err := f.RequestAccess(f.ctx, second, 100)
	f.fails(err, store.ErrExists)
}

func accessApproved(f *fixture) {
	all := []models.AccessSubject{subject("ou_1"), subject("ou_2"), subject("ou_3")}
	for _, s := range all {
		f.requested(s)
	}
	approved, err := f.Approved(f.ctx, all)
	f.ok(err)
	equal(f, "approved", len(approved), 0)
	items, _, err := f.ListAccess(f.ctx, store.AccessQuery{State: models.AccessPending, Now: f.now})
	f.ok(err)
	for _, g := range items {
		if g.SubjectID != "ou_2" {
			f.decideAccess(g.Code, models.AccessApproved)
		}
	}
	approved, err = f.Approved(f.ctx, append(all, subject("OU_1"), subject("ou_4")))
	f.ok(err)
	equal(f, "approved", approved, []models.AccessSubject{subject("ou_1"), subject("ou_3")})
	none, err := f.Approved(f.ctx, nil)
	f.ok(err)
	equal(f, "approved of none", len(none), 0)
	g, fresh, err := f.RequestAccess(f.ctx, f.request(subject("ou_1")), 100)
	f.ok(err)
	equal(f, "asked again", [2]any{g.State, fresh}, [2]any{models.AccessApproved, false})
}

func accessDenied(f *fixture) {
	g := f.decideAccess(f.requested(subject("ou_1")).Code, models.AccessDenied)
	equal(f, "decision", [...]any{g.State, g.Code, g.DecidedBy}, [...]any{models.AccessDenied, "", "admin"})
	f.sameTime("decided at", *g.DecidedAt, f.now)
	late := f.request(subject("ou_1"))
	late.RequestedAt = f.at(1000 * time.Hour)
	again, fresh, err := f.RequestAccess(f.ctx, late, 100)
	f.ok(err)
	equal(f, "asked again", [2]any{again.State, fresh}, [2]any{models.AccessDenied, false})
	approved, err := f.Approved(f.ctx, []models.AccessSubject{subject("ou_1")})
	f.ok(err)
	equal(f, "approved", len(approved), 0)
}

func accessDecided(f *fixture) {
	g := f.requested(subject("ou_1"))
	for _, d := range []store.AccessDecision{
		{Code: "P-NONE"}, {Code: g.Code, Channel: "dingtalk", Account: "main"}, {Code: g.Code, Channel: "feishu", Account: "second"},
	} {
		d.State, d.By, d.Now = models.AccessApproved, "feishu/main/ou_root", f.now
		_, err := f.DecideAccess(f.ctx, d)
		f.fails(err, store.ErrNotFound)
	}
	_, err := f.DecideAccess(f.ctx, store.AccessDecision{Code: g.Code, State: models.AccessPending, By: "admin", Now: f.now})
	f.fails(err, store.ErrInvalid)
	f.decideAccess(g.Code, models.AccessApproved)
	_, err = f.DecideAccess(f.ctx, store.AccessDecision{Code: g.Code, State: models.AccessDenied, By: "admin", Now: f.now})
	f.fails(err, store.ErrNotFound)
}

func accessCommand(f *fixture) {
	g := f.requested(subject("ou_1"))
	key, undone := f.key(), errors.New("undone")
	decide := func(tx store.SessionTx) error {
		pending, err := tx.PendingAccess("feishu", "main", f.now, 10)
		f.ok(err)
		equal(f, "pending", pending, []*models.AccessGrant{g})
		decided, err := tx.DecideAccess(store.AccessDecision{Code: g.Code, Channel: "feishu", Account: "main", State: models.AccessApproved, By: "feishu/main/ou_root", Now: f.now})
		f.ok(err)
		equal(f, "state", decided.State, models.AccessApproved)
		return nil
	}
	f.fails(f.ChangeSession(f.ctx, key, func(tx store.SessionTx) error { return errors.Join(decide(tx), undone) }), undone)
	f.change(key, decide)
	equal(f, "approved", f.access(store.AccessQuery{State: models.AccessApproved}), []string{"ou_1"})
}

func accessRemoved(f *fixture) {
	g := f.requested(subject("ou_1"))
	f.decideAccess(g.Code, models.AccessApproved)
	removed, err := f.RemoveAccess(f.ctx, g.ID)
	f.ok(err)
	equal(f, "removed", removed.SubjectID, "ou_1")
	_, err = f.RemoveAccess(f.ctx, g.ID)
	f.fails(err, store.ErrNotFound)
	approved, err := f.Approved(f.ctx, []models.AccessSubject{subject("ou_1")})
	f.ok(err)
	equal(f, "approved", len(approved), 0)
	f.requested(subject("ou_1"))
}

func accessLists(f *fixture) {
	for i := range 7 {
		r := f.request(subject(fmt.Sprint("ou_", i)))
		r.RequestedAt, r.ExpiresAt = f.at(time.Duration(i)*time.Second), f.at(time.Hour)
		if i == 6 {
			r.Account = "second"
		}
		g, _, err := f.RequestAccess(f.ctx, r, 100)
		f.ok(err)
		if i < 4 {
			f.decideAccess(g.Code, []models.AccessState{models.AccessApproved, models.AccessDenied}[i%2])
		}
	}
	equal(f, "decided", f.access(store.AccessQuery{}), []string{"ou_3", "ou_2", "ou_1", "ou_0"})
	equal(f, "approved", f.access(store.AccessQuery{State: models.AccessApproved}), []string{"ou_2", "ou_0"})
	equal(f, "pending", f.access(store.AccessQuery{State: models.AccessPending}), []string{"ou_6", "ou_5", "ou_4"})
	equal(f, "of an account", f.access(store.AccessQuery{State: models.AccessPending, Channel: "feishu", Account: "second"}), []string{"ou_6"})
	var paged []string
	for q := (store.AccessQuery{Limit: 3, Now: f.now}); ; {
		items, next, err := f.ListAccess(f.ctx, q)
		f.ok(err)
		for _, g := range items {
			paged = append(paged, g.SubjectID)
		}
		if q.Cursor = next; next == "" {
			break
		}
	}
	equal(f, "pages", paged, []string{"ou_3", "ou_2", "ou_1", "ou_0"})
	_, _, err := f.ListAccess(f.ctx, store.AccessQuery{Cursor: "?"})
	f.fails(err, store.ErrInvalid)
}

func accessSwept(f *fixture) {
	f.requested(subject("ou_1"))
	f.decideAccess(f.requested(subject("ou_2")).Code, models.AccessApproved)
	n, err := f.Sweep(f.ctx, f.at(59*time.Minute), store.Retention{}, 10)
	f.ok(err)
	equal(f, "swept too early", n.Requests, 0)
	n, err = f.Sweep(f.ctx, f.at(2*time.Hour), store.Retention{}, 10)
	f.ok(err)
	equal(f, "swept", n.Requests, 1)
	equal(f, "approved", f.access(store.AccessQuery{}), []string{"ou_2"})
}

func toldOnce(f *fixture) {
	tell := func(key string, now time.Time, want bool) {
		f.Helper()
		told, err := f.TellOnce(f.ctx, key, now, now.Add(time.Hour), []*models.Delivery{f.delivery("oc_1", "no")})
		f.ok(err)
		equal(f, "told", told, want)
	}
	tell("a", f.now, true)
	tell("a", f.at(59*time.Minute), false)
	tell("b", f.now, true)
	tell("a", f.at(time.Hour), true)
	tell("a", f.at(time.Hour), false)
	equal(f, "deliveries", texts(f.deliveries(models.DeliveryPending)), []string{"no", "no", "no"})
	n, err := f.Sweep(f.ctx, f.at(3*time.Hour), store.Retention{}, 10)
	f.ok(err)
	equal(f, "swept", n.Notices, 2)
	of := f.delivery("oc_1", "yours")
	of.SessionKey = f.key()
	told, err := f.TellOnce(f.ctx, "c", f.now, f.at(time.Hour), []*models.Delivery{of})
	f.ok(err)
	equal(f, "told", told, true)
}

func toldRace(f *fixture) {
	var mu sync.Mutex
	n := 0
	race(8, func(int) {
		told, err := f.TellOnce(f.ctx, "a", f.now, f.at(time.Hour), []*models.Delivery{f.delivery("oc_1", "no")})
		f.ok(err)
		if told {
			mu.Lock()
			n++
			mu.Unlock()
		}
	})
	equal(f, "told", n, 1)
}

func triesCounted(f *fixture) {
	try := func(key string, now time.Time, want int) {
		f.Helper()
		f.change(f.key(), func(tx store.SessionTx) error {
			n, err := tx.CountTry(key, now, time.Minute)
			f.ok(err)
			equal(f, "tries", n, want)
			return nil
		})
	}
	try("a", f.now, 1)
	try("a", f.at(time.Second), 2)
	try("b", f.at(time.Second), 1)
	try("a", f.at(59*time.Second), 3)
	try("a", f.at(time.Minute), 1)
	try("a", f.at(time.Minute+time.Second), 2)
}
