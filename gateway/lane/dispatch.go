package lane

import (
	"context"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/store"
)

// controlPoll is how often turns that were stopped elsewhere are looked for.
const controlPoll = time.Second

// Nudge makes the dispatcher look for due lanes now.
func (p *Pool) Nudge() {
	select {
	case p.nudge <- struct{}{}:
	default:
	}
}

// NudgeAfter nudges after d.
func (p *Pool) NudgeAfter(d time.Duration) {
	if d <= 0 {
		p.Nudge()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.draining {
		return
	}
	p.wg.Go(func() {
		if clock.Sleep(p.base, p.clock, d) == nil {
			p.Nudge()
		}
	})
}

// Run claims due lanes, renews leases and cancels stopped turns until ctx ends;
// then it waits for the running turns, at most for the grace, hands back the
// rest, and returns.
func (p *Pool) Run(ctx context.Context) {
	upkeep, stopUpkeep := context.WithCancel(context.WithoutCancel(ctx))
	var loops sync.WaitGroup
	loops.Go(func() { p.dispatch(ctx) })
	loops.Go(func() { p.every(upkeep, p.cfg.Lease/3, p.renew) })
	loops.Go(func() { p.every(upkeep, controlPoll, p.cancelStopped) })

	<-ctx.Done()
	p.drain()
	stopUpkeep()
	loops.Wait()
}

func (p *Pool) drain() {
	p.mu.Lock()
	p.draining = true
	p.mu.Unlock()

	idle := make(chan struct{})
	go func() {
		p.wg.Wait()
		close(idle)
	}()
	timer := p.clock.NewTimer(p.cfg.Grace)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	case <-p.base.Done():
	}
	p.cancel(ErrShutdown)
	<-idle
}

func (p *Pool) every(ctx context.Context, d time.Duration, do func(context.Context)) {
	for clock.Sleep(ctx, p.clock, d) == nil {
		do(ctx)
	}
}

func (p *Pool) dispatch(ctx context.Context) {
	for ctx.Err() == nil {
		full := p.claim(ctx)
		if full {
			continue // more may be due: claim again while workers are free
		}
		timer := p.clock.NewTimer(p.cfg.Poll)
		select {
		case <-ctx.Done():
		case <-p.nudge:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// claim claims as many due lanes as half of the free workers can run, so that who
// accepts a message meanwhile finds one, and reports whether it got as many as it
// asked for.
func (p *Pool) claim(ctx context.Context) bool {
	free := 0
	for most := (p.cfg.Workers - len(p.workers) + 1) / 2; free < most && p.Reserve(); {
		free++
	}
	if free == 0 {
		return false
	}
	claimedAt := p.clock.Now()
	bounded, cancel := context.WithTimeout(ctx, p.cfg.Lease)
	claims, err := p.claimUpTo(bounded, free)
	cancel()
	if err != nil && ctx.Err() == nil {
		p.log.Error("lanes could not be claimed", "error", err)
	}
	for i := range free {
		if i < len(claims) {
			p.Start(claims[i], claimedAt, nil)
		} else {
			p.Unreserve()
		}
	}
	return len(claims) == free
}

func (p *Pool) claimUpTo(ctx context.Context, n int) ([]store.Claim, error) {
	if p.cfg.Only == "" {
		return p.claimByKind(ctx, n)
	}
	claim, err := p.lanes.ClaimLane(ctx, p.ClaimRequest(), p.cfg.Only)
	if claim == nil || err != nil {
		return nil, err
	}
	return []store.Claim{*claim}, nil
}

// renew extends the leases of the running lanes. A lane that was not renewed for
// two thirds of its lease is cancelled without asking the database: by the time
// the lease ends nobody here works on it any more.
func (p *Pool) renew(ctx context.Context) {
	started := p.clock.Now()
	p.mu.Lock()
	claims := make([]store.Claim, 0, len(p.running))
	for _, r := range p.running {
		claims = append(claims, r.claim)
	}
	p.mu.Unlock()
	if len(claims) == 0 {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, p.cfg.Lease/3)
	lost, err := p.lanes.RenewLanes(bounded, claims, p.cfg.Lease)
	cancel()
	if err != nil {
		p.log.Error("leases could not be renewed", "lanes", len(claims), "error", err)
	}
	gone := make(map[store.Claim]bool, len(lost))
	for _, c := range lost {
		gone[c] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range claims {
		r := p.running[c.SessionKey]
		if r == nil || r.claim != c {
			continue
		}
		switch {
		case err == nil && !gone[c]:
			r.renewedAt = started
		case gone[c], p.clock.Now().Sub(r.renewedAt) >= p.cfg.Lease*2/3:
			r.cancel(store.ErrLeaseLost)
		}
	}
}

// cancelStopped cancels the turns whose message got its outcome on another replica.
func (p *Pool) cancelStopped(ctx context.Context) {
	p.mu.Lock()
	var running []string
	for _, r := range p.running {
		running = append(running, r.inbounds...)
	}
	p.mu.Unlock()
	const most = 1000 // what one query takes
	for len(running) > 0 {
		n := min(len(running), most)
		bounded, cancel := context.WithTimeout(ctx, p.cfg.Lease)
		stopped, err := p.lanes.StoppedTurns(bounded, running[:n])
		cancel()
		if err != nil {
			p.log.Error("stopped turns could not be read", "error", err)
			return
		}
		p.Stop(stopped...)
		running = running[n:]
	}
}
