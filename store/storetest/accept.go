package storetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func acceptTests() []test {
	return []test{
		{"StoresTheMessage", acceptStores},
		{"KeepsOrderWithoutGaps", acceptOrder},
		{"DuplicateChangesNothing", acceptDuplicate},
		{"DuplicateByAnyKey", acceptDuplicateByAnyKey},
		{"DuplicateThatDiffers", acceptDiffers},
		{"DuplicateOfAnotherSession", acceptDuplicateElsewhere},
		{"ClaimsOnlyAnIdleLane", acceptClaim},
		{"DelayKeepsTheLaneUnclaimed", acceptDelay},
		{"DelayLeavesABusyLaneAlone", acceptDelayBusy},
		{"TombstoneRefusesTheMessage", acceptTombstone},
		{"AliasesNameOneThread", acceptAliases},
		{"AliasTakenStoresNothing", acceptAliasTaken},
		{"IgnoredHasItsOutcomeAtOnce", acceptIgnored},
		{"RacingDuplicatesAreOne", acceptRace},
		{"RacingCrossedKeysAreOne", acceptRaceCrossed},
		{"RacingAcceptsOfALane", acceptRaceLane},
	}
}

func acceptStores(f *fixture) {
	r := f.message(f.key())
	r.Inbound.Awaited = true
	r.Inbound.CreatedAt = f.at(-time.Second)
	a := f.accept(r)
	for _, got := range []*models.Inbound{a.Inbound, f.inbound(r.Inbound.ID)} {
		want := r.Inbound
		want.State, want.Slot, want.Seq, want.Epoch = models.InboundReceived, models.DefaultSlot, got.Seq, got.Epoch
		f.sameTime("createdAt", got.CreatedAt, want.CreatedAt)
		f.sameTime("receivedAt", got.ReceivedAt, want.ReceivedAt)
		equal(f, "payload", string(got.Payload), string(want.Payload))
		equal(f, "finishedAt", got.FinishedAt, nil)
		got = scalars(got)
		equal(f, "message", *got, *scalars(&want))
	}
	found, err := f.FindInbound(f.ctx, r.DedupKeys[0])
	f.ok(err)
	equal(f, "found message", found.ID, r.Inbound.ID)
	_, err = f.FindInbound(f.ctx, "message/unknown")
	f.fails(err, store.ErrNotFound)
	_, err = f.Inbound(f.ctx, "inb_unknown")
	f.fails(err, store.ErrNotFound)
	_, err = f.Session(f.ctx, r.Inbound.SessionKey)
	f.fails(err, store.ErrNotFound) // the first commit makes the session
}

// scalars is the message without what reflect.DeepEqual cannot compare.
func scalars(in *models.Inbound) *models.Inbound {
	c := *in
	c.CreatedAt, c.ReceivedAt, c.FinishedAt, c.Payload = time.Time{}, time.Time{}, nil, nil
	if len(c.Replaces) == 0 {
		c.Replaces = nil
	}
	return &c
}

func acceptOrder(f *fixture) {
	key := f.key()
	first := f.message(key)
	last := f.accept(first).Inbound.Seq
	for range 3 {
		_, err := f.Accept(f.ctx, first) // takes no place
		f.ok(err)
		seq := f.waiting(key).Seq
		equal(f, "seq", seq, last+1)
		last = seq
	}
}

func acceptDuplicate(f *fixture) {
	r := f.message(f.key())
	first := f.accept(r).Inbound
	again := f.message(r.Inbound.SessionKey, dedup(r.DedupKeys...), claimed(claim()))
	again.Fingerprint = r.Fingerprint
	a, err := f.Accept(f.ctx, again)
	f.ok(err)
	if !a.Duplicate || a.Differs || a.Claim != nil {
		f.Fatalf("accepted %+v, want a plain duplicate", a)
	}
	equal(f, "message", a.Inbound.ID, first.ID)
	_, err = f.Inbound(f.ctx, again.Inbound.ID)
	f.fails(err, store.ErrNotFound)
	turn := f.begin(f.claimLane(claim()))
	equal(f, "turn", ids(turn.Inbounds), []string{first.ID})
	if done := f.commit(f.answer(turn, "answer", keep(longLease))); done.Waiting || done.Kept != nil {
		f.Fatalf("a duplicate waits in the lane: %+v", done)
	}
}

func acceptDuplicateByAnyKey(f *fixture) {
	key := f.key()
	first := f.accept(f.message(key, dedup("message/1", "event/1"))).Inbound
	for _, keys := range [][]string{{"message/1", "event/2"}, {"message/2", "event/1"}, {"event/1"}} {
		a, err := f.Accept(f.ctx, f.message(key, dedup(keys...)))
		f.ok(err)
		if !a.Duplicate || a.Inbound == nil || a.Inbound.ID != first.ID {
			f.Fatalf("keys %v: accepted %+v, want a duplicate of %s", keys, a, first.ID)
		}
	}
	f.waiting(key, dedup("message/3", "event/3"))
}

func acceptDiffers(f *fixture) {
	r := f.message(f.key())
	f.accept(r)
	other := f.message(r.Inbound.SessionKey, dedup(r.DedupKeys...))
	other.Fingerprint = []byte("something else")
	a, err := f.Accept(f.ctx, other)
	f.ok(err)
	if !a.Duplicate || !a.Differs {
		f.Fatalf("accepted %+v, want a duplicate that differs", a)
	}
	equal(f, "payload", string(f.inbound(r.Inbound.ID).Payload), string(r.Inbound.Payload))
}

// A message may come again after a change of the configuration moved its chat.
func acceptDuplicateElsewhere(f *fixture) {
	first := f.waiting(f.key(), dedup("message/1"))
	other := f.key()
	a, err := f.Accept(f.ctx, f.message(other, dedup("message/1"), claimed(claim())))
	f.ok(err)
	if !a.Duplicate || a.Claim != nil {
		f.Fatalf("accepted %+v, want a duplicate", a)
	}
	equal(f, "message", a.Inbound.ID, first.ID)
	equal(f, "lane", f.claimLane(claim()).SessionKey, first.SessionKey)
}

func acceptClaim(f *fixture) {
	key := f.key()
	running := f.start(key)
	f.state(models.InboundRunning, running.Inbounds[0].ID)
	second := f.accept(f.message(key, claimed(claim())))
	if second.Claim != nil {
		f.Fatalf("a busy lane was claimed: %+v", second.Claim)
	}
	f.state(models.InboundReceived, second.Inbound.ID)
	f.noLane()

	// A lane with somebody waiting is not idle: who came first goes first.
	queued := f.key()
	first := f.waiting(queued)
	if a := f.accept(f.message(queued, claimed(claim()))); a.Claim != nil {
		f.Fatalf("a message overtook the one that waits")
	}
	turn := f.begin(f.claimLane(claim()))
	equal(f, "turn", ids(turn.Inbounds), []string{first.ID})
}

func acceptDelay(f *fixture) {
	key := f.key()
	r := f.message(key, claimed(claim()))
	r.Delay = shortLease
	r.Inbound.CreatedAt = f.at(-time.Millisecond)
	if a := f.accept(r); a.Claim != nil {
		f.Fatalf("a delayed lane was claimed")
	}
	// What was written earlier and came a moment later goes first.
	earlier := f.message(key, claimed(claim()))
	earlier.Delay = shortLease
	earlier.Inbound.CreatedAt = f.at(-2 * time.Millisecond)
	if a := f.accept(earlier); a.Claim != nil {
		f.Fatalf("a delayed lane was claimed")
	}
	turn := f.begin(f.takeOver(key))
	equal(f, "attempts", turn.Claim.Attempts, 1)
	equal(f, "turn", ids(turn.Inbounds), []string{earlier.Inbound.ID})
}

func acceptDelayBusy(f *fixture) {
	key := f.key()
	turn := f.start(key)
	r := f.message(key)
	r.Delay = time.Hour
	f.accept(r)
	done := f.commit(f.answer(turn, "answer", keep(longLease)))
	if done.Kept == nil {
		f.Fatalf("a delay meant for an idle lane held up a busy one: %+v", done)
	}
	equal(f, "turn", ids(f.begin(*done.Kept).Inbounds), []string{r.Inbound.ID})
}

func acceptTombstone(f *fixture) {
	r := f.message(f.key())
	for range 2 {
		recalled, err := f.Tombstone(f.ctx, r.DedupKeys[0])
		f.ok(err)
		equal(f, "recalled before it came", recalled, true)
	}
	_, err := f.FindInbound(f.ctx, r.DedupKeys[0])
	f.fails(err, store.ErrNotFound)
	a, err := f.Accept(f.ctx, r)
	f.ok(err)
	if a.Inbound != nil || a.Claim != nil {
		f.Fatalf("a recalled message was accepted: %+v", a)
	}
	_, err = f.Inbound(f.ctx, r.Inbound.ID)
	f.fails(err, store.ErrNotFound)
	f.noLane()

	there := f.message(f.key())
	f.accept(there)
	recalled, err := f.Tombstone(f.ctx, there.DedupKeys[0])
	f.ok(err)
	equal(f, "recalled before it came", recalled, false)
	f.state(models.InboundReceived, there.Inbound.ID)
}

func acceptAliases(f *fixture) {
	r := f.message(f.key())
	r.Aliases = []store.ThreadAlias{
		{Channel: "feishu", Account: "main", Alias: "om_root", Thread: "omt_1"},
		{Channel: "feishu", Account: "main", Alias: "omt_1", Thread: "omt_1"},
	}
	f.accept(r)
	again := f.message(r.Inbound.SessionKey)
	again.Aliases = r.Aliases
	f.accept(again)
	for _, c := range []struct {
		channel, account string
		ids              []string
		want             string
	}{
		{"feishu", "main", []string{"om_other", "om_root"}, "omt_1"},
		{"feishu", "main", []string{"omt_1"}, "omt_1"},
		{"feishu", "main", []string{"OM_ROOT"}, ""},
		{"feishu", "main", nil, ""},
		{"feishu", "second", []string{"om_root"}, ""},
		{"dingtalk", "main", []string{"om_root"}, ""},
	} {
		got, err := f.ResolveThread(f.ctx, c.channel, c.account, c.ids)
		f.ok(err)
		equal(f, fmt.Sprintf("thread of %v", c), got, c.want)
	}
}

func acceptAliasTaken(f *fixture) {
	alias := store.ThreadAlias{Channel: "feishu", Account: "main", Alias: "om_root", Thread: "omt_1"}
	r := f.message(f.key())
	r.Aliases = []store.ThreadAlias{alias}
	f.accept(r)

	other := f.message(f.key(), claimed(claim()))
	alias.Thread = "omt_2"
	other.Aliases = []store.ThreadAlias{{Channel: "feishu", Account: "main", Alias: "om_new", Thread: "omt_2"}, alias}
	_, err := f.Accept(f.ctx, other)
	f.fails(err, store.ErrAliasTaken)
	_, err = f.Inbound(f.ctx, other.Inbound.ID)
	f.fails(err, store.ErrNotFound)
	thread, err := f.ResolveThread(f.ctx, "feishu", "main", []string{"om_new"})
	f.ok(err)
	equal(f, "thread of a refused message", thread, "")
	other.Aliases = nil
	f.accept(other) // its deduplication key is free
}

func acceptIgnored(f *fixture) {
	r := f.message(f.key(), kind(models.KindIgnored), claimed(claim()))
	r.Inbound.Code, r.Inbound.Error = models.CodeForbidden, "access denied"
	if a := f.accept(r); a.Claim != nil {
		f.Fatalf("an ignored message claimed its lane")
	}
	got := f.inbound(r.Inbound.ID)
	equal(f, "state", got.State, models.InboundIgnored)
	equal(f, "code", got.Code, models.CodeForbidden)
	equal(f, "error", got.Error, "access denied")
	f.noLane()
	a, err := f.Accept(f.ctx, r)
	f.ok(err)
	equal(f, "duplicate", a.Duplicate, true)
}

// race runs n functions at once and waits for them.
func race(n int, run func(i int)) {
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range n {
		done.Go(func() {
			start.Wait()
			run(i)
		})
	}
	start.Done()
	done.Wait()
}

func acceptRace(f *fixture) {
	const racers = 8
	for range 5 {
		key, name := f.key(), f.id("dedup")
		winners := make([]bool, racers)
		seen := make([]string, racers)
		errs := make([]error, racers)
		race(racers, func(i int) {
			target := key
			if i%2 == 1 {
				target = key + "-moved"
			}
			a, err := f.Accept(f.ctx, f.message(target, dedup(name), claimed(claim())))
			if errs[i] = err; err == nil && a.Inbound != nil {
				winners[i], seen[i] = !a.Duplicate, a.Inbound.ID
			}
		})
		won := 0
		for i := range racers {
			f.ok(errs[i])
			if winners[i] {
				won++
			}
			equal(f, "message", seen[i], seen[0])
		}
		equal(f, "winners", won, 1)
	}
}

func acceptRaceCrossed(f *fixture) {
	const racers = 8
	for round := range 5 {
		a, b := fmt.Sprintf("a/%d", round), fmt.Sprintf("b/%d", round)
		key := f.key()
		seen := make([]string, racers)
		errs := make([]error, racers)
		race(racers, func(i int) {
			keys := []string{a, b}
			if i%2 == 1 {
				keys = []string{b, a}
			}
			accepted, err := f.Accept(f.ctx, f.message(fmt.Sprintf("%s-%d", key, i%4), dedup(keys...)))
			if errs[i] = err; err == nil && accepted.Inbound != nil {
				seen[i] = accepted.Inbound.ID
			}
		})
		for i := range racers {
			f.ok(errs[i])
			equal(f, "message", seen[i], seen[0])
		}
	}
}

func acceptRaceLane(f *fixture) {
	const racers = 8
	key := f.key()
	seqs := make([]int64, racers)
	claims := make([]*store.Claim, racers)
	errs := make([]error, racers)
	race(racers, func(i int) {
		a, err := f.Accept(f.ctx, f.message(key, claimed(claim())))
		if errs[i] = err; err == nil {
			seqs[i], claims[i] = a.Inbound.Seq, a.Claim
		}
	})
	first := seqs[0]
	for _, s := range seqs {
		first = min(first, s)
	}
	taken := map[int64]bool{}
	for i := range racers {
		f.ok(errs[i])
		taken[seqs[i]-first] = true
		if (claims[i] != nil) != (seqs[i] == first) {
			f.Fatalf("message %d of the lane has claim %v", seqs[i]-first, claims[i])
		}
	}
	equal(f, "places", len(taken), racers)
	for i := range int64(racers) {
		equal(f, fmt.Sprintf("place %d is taken", i), taken[i], true)
	}
}
