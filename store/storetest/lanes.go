package storetest

import (
	"slices"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func laneTests() []test {
	return []test{
		{"ClaimIsExclusive", laneClaim},
		{"LongestDueFirst", laneOrder},
		{"ClaimOfOneLane", laneClaimOne},
		{"EmptyLaneFallsIdle", laneEmpties},
		{"RenewedLeaseStays", laneRenew},
		{"DeadHolderIsReplaced", laneTakeOver},
		{"StaleClaimIsRefused", laneStale},
		{"ExpiredButUncontestedCommits", laneExpired},
		{"ReleaseDoesNotCountAsAttempt", laneRelease},
		{"ReleaseDelays", laneReleaseDelay},
		{"AttemptsCountDeaths", laneAttempts},
		{"SignIsKept", laneSign},
		{"RacingClaimsAreExclusive", laneRace},
		{"WakeLanesFindsNothing", laneWake},
	}
}

func laneClaim(f *fixture) {
	key := f.key()
	f.noLane()
	f.waiting(key)
	c := f.claimLane(claim())
	equal(f, "lane", c.SessionKey, key)
	equal(f, "attempts", c.Attempts, 1)
	f.noLane()
	turn := f.begin(c)
	f.state(models.InboundRunning, turn.Inbounds[0].ID)
	f.waiting(key) // what comes meanwhile does not free the lane
	f.noLane()
	done := f.commit(f.answer(turn, "answer"))
	equal(f, "waiting", done.Waiting, true)
	next := f.claimLane(claim())
	if next.Fence <= c.Fence {
		f.Fatalf("fence went from %d to %d", c.Fence, next.Fence)
	}
	equal(f, "attempts", next.Attempts, 1)
}

func laneOrder(f *fixture) {
	var want []string
	for range 4 {
		key := f.key()
		f.waiting(key)
		want = append(want, key)
		f.past(2 * time.Millisecond)
	}
	claims, err := f.ClaimLanes(f.ctx, claim(), 3)
	f.ok(err)
	var got []string
	for _, c := range claims {
		got = append(got, c.SessionKey)
	}
	slices.Sort(got)
	slices.Sort(want[:3])
	equal(f, "lanes", got, want[:3])
	equal(f, "the last lane", f.claimLane(claim()).SessionKey, want[3])
	claims, err = f.ClaimLanes(f.ctx, claim(), 0)
	f.ok(err)
	equal(f, "lanes claimed by a full replica", len(claims), 0)
}

func laneClaimOne(f *fixture) {
	mine, other := f.key(), f.key()
	one := func(key string) *store.Claim {
		c, err := f.ClaimLane(f.ctx, claim(), key)
		f.ok(err)
		return c
	}
	if c := one(mine); c != nil {
		f.Fatalf("claimed an unknown lane: %+v", c)
	}
	f.waiting(other)
	in := f.waiting(mine)
	c := one(mine)
	if c == nil || c.SessionKey != mine || c.Attempts != 1 {
		f.Fatalf("claim is %+v", c)
	}
	if again := one(mine); again != nil {
		f.Fatalf("claimed a lane twice: %+v", again)
	}
	turn := f.begin(*c)
	equal(f, "turn", ids(turn.Inbounds), []string{in.ID})
	f.commit(f.answer(turn, "answer"))
	if c := one(mine); c != nil {
		f.Fatalf("claimed an idle lane: %+v", c)
	}
	equal(f, "the other lane", f.claimLane(claim()).SessionKey, other)
}

func laneEmpties(f *fixture) {
	key := f.key()
	in := f.waiting(key)
	c := f.claimLane(claim())
	f.finish(key, models.InboundCancelled, in.ID)
	turn, err := f.BeginTurn(f.ctx, c, store.MergeRule{})
	f.ok(err)
	if turn != nil {
		f.Fatalf("an empty lane has a turn: %+v", turn)
	}
	f.noLane()
	next := f.start(key) // idle again
	if next.Claim.Fence <= c.Fence {
		f.Fatalf("fence went from %d to %d", c.Fence, next.Claim.Fence)
	}
}

func laneRenew(f *fixture) {
	key := f.key()
	f.waiting(key)
	c := f.claimLane(dying())
	lost, err := f.RenewLanes(f.ctx, []store.Claim{c}, longLease)
	f.ok(err)
	equal(f, "lost", len(lost), 0)
	lost, err = f.RenewLanes(f.ctx, []store.Claim{c}, longLease) // twice in one millisecond, too
	f.ok(err)
	equal(f, "lost", len(lost), 0)
	f.past(shortLease)
	f.noLane()
	f.commit(f.answer(f.begin(c), "answer"))
}

func laneTakeOver(f *fixture) {
	key := f.key()
	in := f.waiting(key)
	dead := f.claimLane(dying())
	f.begin(dead)
	c := f.takeOver(key)
	if c.Fence <= dead.Fence {
		f.Fatalf("fence went from %d to %d", dead.Fence, c.Fence)
	}
	equal(f, "attempts", c.Attempts, 2)
	turn := f.begin(c)
	equal(f, "turn", ids(turn.Inbounds), []string{in.ID})
	equal(f, "payload", string(turn.Inbounds[0].Payload), string(in.Payload))
	f.commit(f.answer(turn, "answer"))
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to answer", "answer"})
}

func laneStale(f *fixture) {
	key := f.key()
	f.waiting(key)
	dead := f.claimLane(dying())
	zombie := f.begin(dead)
	c := f.takeOver(key)
	lost, err := f.RenewLanes(f.ctx, []store.Claim{dead, c}, longLease)
	f.ok(err)
	equal(f, "lost", lost, []store.Claim{dead})
	_, err = f.BeginTurn(f.ctx, dead, store.MergeRule{})
	f.fails(err, store.ErrLeaseLost)
	_, err = f.CommitTurn(f.ctx, f.answer(zombie, "from the grave"))
	f.fails(err, store.ErrLeaseLost)
	if err := f.ReleaseLane(f.ctx, dead, 0); err != nil {
		f.fails(err, store.ErrLeaseLost) // or says nothing; the lane stays the new holder's
	}
	f.noLane()
	f.commit(f.answer(f.begin(c), "answer"))
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to answer", "answer"})

	unknown := store.Claim{SessionKey: f.key(), Fence: 1}
	lost, err = f.RenewLanes(f.ctx, []store.Claim{unknown}, longLease)
	f.ok(err)
	equal(f, "lost", lost, []store.Claim{unknown})
}

// A fence, never a clock, decides.
func laneExpired(f *fixture) {
	key := f.key()
	f.waiting(key)
	late := f.begin(f.claimLane(dying()))
	f.past(shortLease)
	f.commit(f.answer(late, "late"))
	equal(f, "history", f.history(key, models.DefaultSlot), []string{"to late", "late"})
}

func laneRelease(f *fixture) {
	key := f.key()
	in := f.waiting(key)
	for range 3 {
		c := f.claimLane(claim())
		equal(f, "attempts", c.Attempts, 1)
		f.begin(c)
		f.ok(f.ReleaseLane(f.ctx, c, 0))
		f.state(models.InboundReceived, in.ID)
	}
	// Nor does it hide that a process died before.
	f.claimLane(dying())
	c := f.takeOver(key)
	equal(f, "attempts", c.Attempts, 2)
	f.ok(f.ReleaseLane(f.ctx, c, 0))
	equal(f, "attempts", f.claimLane(claim()).Attempts, 2)
}

func laneReleaseDelay(f *fixture) {
	key := f.key()
	f.waiting(key)
	c := f.claimLane(claim())
	f.begin(c)
	f.ok(f.ReleaseLane(f.ctx, c, shortLease))
	f.noLane()
	if a := f.accept(f.message(key, claimed(claim()))); a.Claim != nil {
		f.Fatalf("a message jumped the delay of its lane")
	}
	f.takeOver(key)

	hour := f.key()
	f.waiting(hour)
	f.ok(f.ReleaseLane(f.ctx, f.claimLane(claim()), time.Hour))
	f.noLane()
}

func laneAttempts(f *fixture) {
	key := f.key()
	in := f.waiting(key)
	equal(f, "attempts of the message", in.Attempts, 0)
	f.begin(f.claimLane(dying()))
	c := f.takeOver(key)
	turn := f.begin(c)
	equal(f, "attempts of the message", turn.Inbounds[0].Attempts, 1)
	f.commit(f.answer(turn, "answer"))
	f.waiting(key)
	equal(f, "attempts after a commit", f.claimLane(claim()).Attempts, 1)
}

func laneSign(f *fixture) {
	turn := f.start(f.key())
	id := turn.Inbounds[0].ID
	f.ok(f.SaveSign(f.ctx, id, "reaction/42"))
	equal(f, "sign", f.inbound(id).Sign, "reaction/42")
	f.ok(f.SaveSign(f.ctx, id, ""))
	equal(f, "sign", f.inbound(id).Sign, "")
}

func laneRace(f *fixture) {
	const racers, lanes = 8, 20
	for range lanes {
		f.waiting(f.key())
	}
	won := make([][]store.Claim, racers)
	errs := make([]error, racers)
	race(racers, func(i int) {
		for range lanes {
			claims, err := f.ClaimLanes(f.ctx, store.ClaimRequest{Owner: "replica", Lease: longLease}, 3)
			if errs[i] = err; err != nil || len(claims) == 0 {
				return
			}
			won[i] = append(won[i], claims...)
		}
	})
	holders := map[string]int{}
	for i := range racers {
		f.ok(errs[i])
		for _, c := range won[i] {
			holders[c.SessionKey]++
		}
	}
	for {
		claims, err := f.ClaimLanes(f.ctx, claim(), lanes)
		f.ok(err)
		if len(claims) == 0 {
			break
		}
		for _, c := range claims {
			holders[c.SessionKey]++
		}
	}
	equal(f, "claimed lanes", len(holders), lanes)
	for key, n := range holders {
		equal(f, "holders of "+key, n, 1)
	}
}

func laneWake(f *fixture) {
	f.waiting(f.key())
	f.start(f.key())
	f.turn(f.key(), "answer")
	f.enqueue(f.delivery("oc_1", "push"))
	n, err := f.WakeLanes(f.ctx)
	f.ok(err)
	equal(f, "lanes that slept with work to do", n, 0)
}
