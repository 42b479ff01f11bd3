package gateway_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/models"
)

func TestDrainLetsTurnsFinish(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	drain := r.run()
	r.say(said("m1", "ann", wait))
	r.running(wait)
	r.say(said("m2", "ann", "later"))
	done := drain()
	r.until("the gateway drains", func() bool { return !r.gateway.Ready() })
	r.mind.release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if in := r.inbound("m1"); in.State != models.InboundDone {
		t.Errorf("the running turn is %s", in.State)
	}
	equal(t, "what was finished is delivered", r.platform.screen()[:1], "re: "+wait)
	r.start()
	r.ends("m2", models.InboundDone)
	equal(t, "history", r.history("m1"), "user "+wait, "assistant re: "+wait, "user later", "assistant re: later")
}

func TestDrainHandsBackWhatOutlastsTheGrace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.config.Grace = 50 * time.Millisecond
	drain := r.run()
	r.say(said("m1", "ann", wait))
	r.running(wait)
	if err := <-drain(); err != nil {
		t.Fatal(err)
	}
	in := r.inbound("m1")
	if in.State != models.InboundReceived || in.Attempts != 0 {
		t.Errorf("the turn is %s after %d attempts, not handed back", in.State, in.Attempts)
	}
	r.mind.release()
	began := time.Now()
	r.start()
	r.ends("m1", models.InboundDone)
	if took := time.Since(began); took > lease {
		t.Errorf("it ran again after %s: the lane was left to its lease", took)
	}
	equal(t, "screen", r.delivered(), "re: "+wait)
	if n := r.platform.open(); n > 0 {
		t.Error("the card of the first attempt was never finished")
	}
}

// stall makes the database refuse some statements while it is on.
type stall struct {
	on   atomic.Bool
	text string
	seen atomic.Int64
}

var errStalled = errors.New("the database does not answer")

func (s *stall) Statement(_ context.Context, sql string) error {
	if s.on.Load() && strings.Contains(sql, s.text) {
		s.seen.Add(1)
		return errStalled
	}
	return nil
}

func (*stall) Commit(context.Context) error    { return nil }
func (*stall) Committed(context.Context) error { return nil }

// TestTurnEndsByItselfWhenItsLeaseCannotBeRenewed cuts the renewals: the turn must
// be over before somebody else may take its lane, and run again afterwards.
func TestTurnEndsByItselfWhenItsLeaseCannotBeRenewed(t *testing.T) {
	t.Parallel()
	r, database := newRig(t), &stall{text: "lease_owner IS NOT NULL AND (sid, fence) IN"} // the renewal alone
	r.open(database)
	r.start()
	r.say(said("m1", "ann", wait))
	r.running(wait)
	cut := time.Now()
	database.on.Store(true)
	r.until("the turn is cancelled", func() bool { return !r.mind.working(wait) })
	if took := time.Since(cut); took > 2*lease {
		t.Errorf("the turn went on for %s without a lease of %s", took, lease)
	}
	if database.seen.Load() == 0 {
		t.Fatal("no renewal was refused: the turn ended for another reason")
	}
	database.on.Store(false)
	r.mind.release()
	in := r.ends("m1", models.InboundDone)
	equal(t, "history", r.history("m1"), "user "+wait, "assistant re: "+wait)
	equal(t, "screen", r.delivered(), "re: "+wait)
	if in.Attempts > 1 {
		t.Errorf("%d attempts counted for one lost lease", in.Attempts)
	}
}

// TestCommandOfADeadProcessIsCarriedOut lets the first run of a command fail for
// good, as if its process had died: the command is found again and answered once.
func TestCommandOfADeadProcessIsCarriedOut(t *testing.T) {
	t.Parallel()
	r, database := newRig(t), &stall{text: "DELETE FROM commands"}
	r.open(database)
	r.start()
	database.on.Store(true)
	r.say(said("c1", "ann", "/whoami"))
	r.until("its first run has failed", func() bool { return database.seen.Load() > 0 })
	if in := r.inbound("c1"); in.State.Final() {
		t.Fatalf("it is %s already", in.State)
	}
	database.on.Store(false)
	r.ends("c1", models.InboundDone)
	if n := len(r.delivered()); n != 1 {
		t.Errorf("%d answers", n)
	}
}
