package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func raceTests() []test {
	return []test{
		{"NoLostWakeUp", func(f *fixture) { hunt(f, 60) }},
		{"ChangesAndTurns", raceChanges},
		{"SendersOfATarget", raceSenders},
	}
}

// hunt looks for a lane that sleeps although a message waits, for a message that
// runs twice, and for turns out of order: producers and workers share a few lanes
// that go empty all the time.
func hunt(f *fixture, messages int) {
	const producers, workers, lanes = 4, 4, 4
	h := &hunter{f: f, todo: int64(producers * messages), accepted: map[string][]*models.Inbound{}}
	for range lanes {
		h.lanes = append(h.lanes, f.key())
	}
	ctx, cancel := context.WithTimeout(f.ctx, testTimeout/2)
	defer cancel()
	race(producers+workers, func(i int) {
		work := h.work
		if i < producers {
			work = func(ctx context.Context, i int) error { return h.produce(ctx, i, messages) }
		}
		if err := work(ctx, i); err != nil {
			h.fail(err)
			cancel() // one error is enough
		}
	})
	f.ok(errors.Join(h.errs...))
	n, err := f.WakeLanes(f.ctx)
	f.ok(err)
	equal(f, "lanes that slept with work to do", n, 0)
	f.noLane()
	for _, key := range h.lanes {
		h.check(key)
	}
}

type hunter struct {
	f     *fixture
	lanes []string
	todo  int64
	done  atomic.Int64

	mu       sync.Mutex
	errs     []error
	accepted map[string][]*models.Inbound
}

func (h *hunter) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.errs = append(h.errs, err)
}

func (h *hunter) produce(ctx context.Context, producer, messages int) error {
	for i := range messages {
		key := h.lanes[(producer+i)%len(h.lanes)]
		r := h.f.message(key)
		if i%2 == 0 {
			c := claim()
			r.Claim = &c
		}
		a, err := h.f.Accept(ctx, r)
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		h.mu.Lock()
		h.accepted[key] = append(h.accepted[key], a.Inbound)
		h.mu.Unlock()
		if a.Claim == nil {
			continue
		}
		if err := h.run(ctx, &store.Turn{Claim: *a.Claim, Inbounds: []*models.Inbound{a.Inbound}}); err != nil {
			return err
		}
	}
	return nil
}

func (h *hunter) work(ctx context.Context, worker int) error {
	for h.done.Load() < h.todo {
		claims, err := h.f.ClaimLanes(ctx, store.ClaimRequest{Owner: fmt.Sprintf("replica-%d", worker), Lease: longLease}, 2)
		if err != nil {
			return fmt.Errorf("%d of %d messages are done: claim: %w", h.done.Load(), h.todo, err)
		}
		for _, c := range claims {
			turn, err := h.f.BeginTurn(ctx, c, store.MergeRule{})
			if err != nil {
				return fmt.Errorf("begin: %w", err)
			}
			if err := h.run(ctx, turn); err != nil {
				return err
			}
		}
		if len(claims) > 0 {
			continue
		}
		if err := clock.Sleep(ctx, clock.Real(), time.Millisecond); err != nil {
			return fmt.Errorf("%d of %d messages are done: %w", h.done.Load(), h.todo, err)
		}
	}
	return nil
}

// run runs the turns of a lane until it is empty.
func (h *hunter) run(ctx context.Context, turn *store.Turn) error {
	for turn != nil {
		done, err := h.f.CommitTurn(ctx, h.f.answer(turn, turn.Inbounds[0].ID, keep(longLease)))
		if err != nil {
			return fmt.Errorf("commit: %w", err)
		}
		h.done.Add(int64(len(turn.Inbounds)))
		if turn = nil; done.Kept != nil {
			if turn, err = h.f.BeginTurn(ctx, *done.Kept, store.MergeRule{}); err != nil {
				return fmt.Errorf("begin: %w", err)
			}
		}
	}
	return nil
}

func (h *hunter) check(key string) {
	accepted := h.accepted[key]
	slices.SortFunc(accepted, func(a, b *models.Inbound) int { return int(a.Seq - b.Seq) })
	var want []string
	for i, in := range accepted {
		equal(h.f, "place", in.Seq-accepted[0].Seq, int64(i))
		want = append(want, "to "+in.ID, in.ID)
	}
	equal(h.f, "history", h.f.history(key, models.DefaultSlot), want)
	equal(h.f, "messages", h.f.session(key).MessageCount, len(want))
}

// raceChanges mixes all that changes one session; counters and history must agree.
func raceChanges(f *fixture) {
	const racers, rounds = 6, 8
	key := f.key()
	f.create(key)
	f.slot(key, "work")
	errs := make([]error, racers)
	race(racers, func(i int) {
		for n := range rounds {
			var err error
			switch (i + n) % 4 {
			case 0:
				err = f.AppendMessages(f.ctx, key, []*models.SessionMessage{f.said(models.RoleUser, "appended")})
			case 1:
				err = f.ChangeSession(f.ctx, key, func(tx store.SessionTx) error {
					return tx.Append("work", []*models.SessionMessage{f.said(models.RoleUser, "changed")}, f.now)
				})
			case 2:
				err = f.ChangeSession(f.ctx, key, func(tx store.SessionTx) error {
					return tx.SwitchSlot([]string{"work", models.DefaultSlot}[n%2])
				})
			default:
				err = f.ChangeSession(f.ctx, key, func(tx store.SessionTx) error {
					s, err := tx.Session()
					if err != nil {
						return err
					}
					s.Title += "x" // lost, if two read the same title
					return tx.Update(s, f.now)
				})
			}
			errs[i] = errors.Join(errs[i], err)
		}
	})
	f.ok(errors.Join(errs...))
	s := f.session(key)
	total := racers * rounds / 4
	equal(f, "title", len(s.Title), total)
	equal(f, "messages", s.MessageCount, 2*total)
	equal(f, "messages in slots", len(f.history(key, models.DefaultSlot))+len(f.history(key, "work")), 2*total)
}

// raceSenders has many senders at few targets; each text arrives once, in order.
func raceSenders(f *fixture) {
	const producers, senders, each, targets = 3, 3, 30, 3
	var mu sync.Mutex
	arrived := map[string][]string{}
	var sentAll atomic.Int64
	errs := make([]error, producers+senders)
	ctx, cancel := context.WithTimeout(f.ctx, testTimeout/2)
	defer cancel()
	send := func(c store.TargetClaim) error {
		d, err := f.NextDelivery(ctx, c, f.now)
		for err == nil && d != nil {
			mu.Lock()
			arrived[d.Target.ChatID] = append(arrived[d.Target.ChatID], d.Text)
			mu.Unlock()
			sentAll.Add(1)
			d, err = f.FinishDelivery(ctx, c, f.sent(d))
		}
		return err
	}
	race(producers+senders, func(i int) {
		defer func() {
			if errs[i] != nil {
				cancel() // one error is enough
			}
		}()
		if i < producers { // each producer has a target of its own, so that its order is known
			for n := range each {
				_, err := f.Enqueue(ctx, []*models.Delivery{f.delivery(fmt.Sprintf("oc_%d", i%targets), fmt.Sprint(n))}, store.Once{}, nil)
				errs[i] = errors.Join(errs[i], err)
			}
			return
		}
		for sentAll.Load() < producers*each && errs[i] == nil {
			claims, err := f.ClaimTargets(ctx, claim(), 2)
			for _, c := range claims {
				err = errors.Join(err, send(c))
			}
			if err == nil && len(claims) == 0 {
				err = clock.Sleep(ctx, clock.Real(), time.Millisecond)
			}
			errs[i] = err
		}
	})
	f.ok(errors.Join(errs...))
	var want []string
	for n := range each {
		want = append(want, fmt.Sprint(n))
	}
	for i := range targets {
		equal(f, "texts", arrived[fmt.Sprintf("oc_%d", i)], want)
	}
	n, err := f.WakeLanes(f.ctx)
	f.ok(err)
	equal(f, "targets that slept with work to do", n, 0)
}
