package transfer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Sentinels of [CopyAll].
var (
	// ErrPending means that messages wait for an answer, or answers to be sent.
	ErrPending = errors.New("transfer: work is pending")
	// ErrSame means that both are one place.
	ErrSame = errors.New("transfer: both are the same place")
	// ErrFailed means that some sessions were not copied; [Report].Failed says which.
	ErrFailed = errors.New("transfer: not all sessions were copied")
)

// Report is what a copy came to.
type Report struct {
	// Sessions were found, of which Present were there already.
	Sessions int `json:"sessions"`
	Copied   int `json:"copied"`
	Present  int `json:"present"`
	// Rows are of what belongs to no session: tasks, who was let in, what was seen.
	Rows      int `json:"rows"`
	AddedRows int `json:"addedRows"`
	// Pending is what was left behind because the caller said so.
	Pending Pending  `json:"pending"`
	Failed  []Failed `json:"failed"`
}

// Failed is a session that was not copied; at most [maxFailed] are named.
type Failed struct {
	Key   string `json:"key"`
	Error string `json:"error"`
}

// Pending is work that is not done yet.
type Pending struct {
	Messages   int `json:"messages"`
	Deliveries int `json:"deliveries"`
}

const (
	copyWorkers = 4
	maxFailed   = 100
	listPage    = 200
	sumBatch    = 500
)

// CopyOptions say how a store is copied.
type CopyOptions struct {
	// LeavePending copies although work is pending, which then is left behind.
	LeavePending bool
}

// CopyAll copies every session, and what belongs to none but is needed to go on: all
// but the queue and its history. Sessions are compared by their hashes; one that is
// there already stays as it is. It can be run again to go on where it was cut off.
//
// A message or answer that waits is [ErrPending]: it would be lost.
func CopyAll(ctx context.Context, from, to store.Store, o CopyOptions) (*Report, error) {
	out := &Report{Failed: []Failed{}}
	err := apart(ctx, from, to)
	if err == nil {
		out.Pending, err = pending(ctx, from)
	}
	if err == nil && out.Pending != (Pending{}) && !o.LeavePending {
		err = fmt.Errorf("%w: %d messages and %d deliveries", ErrPending, out.Pending.Messages, out.Pending.Deliveries)
	}
	if err == nil {
		err = copySessions(ctx, from, to, out)
	}
	if err == nil {
		err = copyRows(ctx, from, to, out)
	}
	if err == nil {
		err = out.verify(ctx, from)
	}
	if err != nil {
		return out, fmt.Errorf("copy: %w", err)
	}
	return out, nil
}

// apart makes sure that the stores are two places, whatever they are called: a lease
// that is taken in one must be free in the other.
func apart(ctx context.Context, from, to store.Leases) error {
	name := models.NewID("copy")
	for _, place := range []struct {
		leases store.Leases
		owner  string
	}{{from, "from"}, {to, "to"}} {
		held, err := place.leases.AcquireLease(ctx, name, store.ClaimRequest{Owner: place.owner, Lease: time.Minute})
		if err != nil {
			return err
		}
		if !held {
			return errors.Join(ErrSame, from.ReleaseLease(ctx, name, "from"))
		}
	}
	return errors.Join(from.ReleaseLease(ctx, name, "from"), to.ReleaseLease(ctx, name, "to"))
}

func pending(ctx context.Context, from store.Upkeep) (Pending, error) {
	stats, err := from.Stats(ctx)
	if err != nil {
		return Pending{}, err
	}
	return Pending{
		Messages:   stats.Inbound[string(models.InboundReceived)] + stats.Inbound[string(models.InboundRunning)],
		Deliveries: stats.Deliveries[string(models.DeliveryPending)] + stats.Deliveries[string(models.DeliverySending)],
	}, nil
}

// eachPage visits the keys of all sessions.
func eachPage(ctx context.Context, from store.Sessions, visit func(keys []string) error) error {
	for cursor := ""; ; {
		sessions, next, err := from.ListSessions(ctx, store.SessionQuery{Limit: listPage, Cursor: cursor})
		if err != nil {
			return err
		}
		keys := make([]string, len(sessions))
		for i, s := range sessions {
			keys[i] = s.Key
		}
		if err := visit(keys); err != nil || next == "" {
			return err
		}
		cursor = next
	}
}

func copySessions(ctx context.Context, from, to store.Store, out *Report) error {
	var mu sync.Mutex
	return eachPage(ctx, from, func(keys []string) error {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(copyWorkers)
		for _, key := range keys {
			group.Go(func() error {
				copied, err := Copy(ctx, from, to, key)
				mu.Lock()
				defer mu.Unlock()
				return out.add(key, copied, err)
			})
		}
		return group.Wait()
	})
}

// add counts a session. What is wrong with it alone does not end the copy.
func (c *Report) add(key string, copied bool, err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound): // deleted meanwhile
		return nil
	case err == nil && copied:
		c.Copied++
	case err == nil:
		c.Present++
	case errors.Is(err, ErrDiffers), errors.Is(err, ErrCorrupt), errors.Is(err, ErrInUse), errors.Is(err, ErrDocument):
		if len(c.Failed) < maxFailed {
			c.Failed = append(c.Failed, Failed{key, err.Error()})
		}
	default:
		return err
	}
	c.Sessions++
	return nil
}

// copyRows copies what belongs to no session.
func copyRows(ctx context.Context, from, to store.Store, out *Report) error {
	for { // what turns cost is still with their messages
		n, err := from.SumUsage(ctx, sumBatch)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	return from.LooseRows(ctx, func(page []store.LooseRow) error {
		added, err := to.PutLooseRows(ctx, page)
		out.Rows, out.AddedRows = out.Rows+len(page), out.AddedRows+added
		return err
	})
}

// verify counts again what there is.
func (c *Report) verify(ctx context.Context, from store.Sessions) error {
	if bad := c.Sessions - c.Copied - c.Present; bad > 0 {
		return fmt.Errorf("%w: %d of %d", ErrFailed, bad, c.Sessions)
	}
	there := 0
	if err := eachPage(ctx, from, func(keys []string) error {
		there += len(keys)
		return nil
	}); err != nil {
		return err
	}
	if there != c.Sessions {
		return fmt.Errorf("%w: %d sessions were copied, and now there are %d", ErrInUse, c.Sessions, there)
	}
	return nil
}
