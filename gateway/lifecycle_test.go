package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/gateway/lifecycle"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/testmysql"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
)

// ahead is a clock that can be set forward.
type ahead struct {
	clock.Clock

	by atomic.Int64
}

func (a *ahead) Now() time.Time           { return a.Clock.Now().Add(time.Duration(a.by.Load())) }
func (a *ahead) advance(by time.Duration) { a.by.Add(int64(by)) }

const day = 24 * time.Hour

// aging is a rig whose clock can be set forward.
func aging(t *testing.T) (*rig, *ahead) {
	t.Helper()
	r, c := newRig(t), &ahead{Clock: clock.Real()}
	r.clock = c
	r.settings.Lifecycle = lifecycle.Settings{IdleTimeout: time.Hour, ArchiveAfter: 30 * day, TTL: 365 * day, Location: time.UTC}
	return r, c
}

// job runs a job and returns how many sessions it changed.
func (r *rig) job(name string) int {
	r.t.Helper()
	report, err := r.gateway.RunJob(context.Background(), name, false)
	if err != nil || report.Error != "" {
		r.t.Fatalf("%s: %+v %v", name, report, err)
	}
	return report.Changed
}

func (r *rig) stateOf(key string) models.SessionState {
	r.t.Helper()
	s, err := r.store.Session(context.Background(), key)
	if errors.Is(err, store.ErrNotFound) {
		return "gone"
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return s.State
}

func (r *rig) wantState(key string, want models.SessionState) {
	r.t.Helper()
	if got := r.stateOf(key); got != want {
		r.t.Errorf("it is %s, want %s", got, want)
	}
}

// A chat's session ages, comes back with the next message and says so, and goes in
// the end. What tasks deliver into the chat does not keep it.
func TestSessionAges(t *testing.T) {
	r, c := aging(t)
	r.start()
	r.say(said("m1", "ann", "hello"))
	key := r.ends("m1", models.InboundDone).SessionKey
	r.job(lifecycle.Idle)
	r.wantState(key, models.SessionActive)
	c.advance(2 * time.Hour)
	r.job(lifecycle.Idle)
	r.wantState(key, models.SessionIdle)
	c.advance(31 * day)

	// A run is the use of a task's session, and none of the chat that it tells.
	task := r.scheduled("report", nil)
	run := r.ran("report", 1)
	r.until("the chat holds it", func() bool { return len(r.history("m1")) == 3 })
	r.job(lifecycle.Idle)
	r.job(lifecycle.Archive)
	r.wantState(key, models.SessionArchived)
	r.wantState(run.SessionKey, models.SessionActive)
	c.advance(2 * time.Hour)
	if n := r.job(lifecycle.Idle); n != 1 {
		t.Errorf("%d became idle after task %s", n, task.ID)
	}
	r.wantState(run.SessionKey, models.SessionIdle)
	before := len(r.delivered())

	restored := text.Say(text.English, text.SessionRestored)
	r.say(said("m2", "ann", "are you there"))
	r.ends("m2", models.InboundDone)
	r.wantState(key, models.SessionActive)
	equal(t, "screen", r.delivered()[before:], "re: are you there", restored)
	r.say(said("m3", "ann", "good"))
	r.ends("m3", models.InboundDone)
	equal(t, "screen", r.delivered()[before+2:], "re: good")
	if h := r.history("m3"); len(h) != 7 || slices.Contains(h, "assistant "+restored) {
		t.Errorf("history %q", h)
	}

	c.advance(364 * day)
	r.job(lifecycle.Expire)
	r.job(lifecycle.Idle)
	r.wantState(key, models.SessionIdle)
	c.advance(2 * day)
	if n := r.job(lifecycle.Expire); n != 2 {
		t.Errorf("%d expired", n)
	}
	r.wantState(key, "gone")
	r.wantState(run.SessionKey, "gone")
	r.say(said("m4", "ann", "and now"))
	r.ends("m4", models.InboundDone)
	equal(t, "history", r.history("m4"), "user and now", "assistant re: and now")
}

// A chat command is a message of a person, too; one that fails is as well.
func TestWhatRestores(t *testing.T) {
	for name, again := range map[string]func(r *rig){
		"command": func(r *rig) { r.say(said("m2", "ann", "/whoami")); r.ends("m2", models.InboundDone) },
		"readonly slot": func(r *rig) {
			key := r.inbound("m1").SessionKey
			if err := r.store.ChangeSession(context.Background(), key, func(tx store.SessionTx) error {
				slots, err := tx.Slots()
				if err != nil {
					return err
				}
				slots[0].Mode = models.SlotReadonly
				return tx.UpdateSlot(slots[0])
			}); err != nil {
				r.t.Fatal(err)
			}
			r.say(said("m2", "ann", "hello"))
			r.ends("m2", models.InboundFailed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, c := aging(t)
			r.chat.Language = "zh"
			r.start()
			r.say(said("m1", "ann", "hello"))
			key := r.ends("m1", models.InboundDone).SessionKey
			if _, err := r.gateway.Archive(context.Background(), key, false); err != nil {
				t.Fatal(err)
			}
			r.wantState(key, models.SessionArchived)
			again(r)
			r.wantState(key, models.SessionActive)
			screen := r.delivered()
			if last := screen[len(screen)-1]; last != text.Say(text.Chinese, text.SessionRestored) {
				t.Errorf("screen %q", screen)
			}
			c.advance(59 * time.Minute)
			if n := r.job(lifecycle.Idle); n != 0 {
				t.Errorf("%d became idle too early", n)
			}
			c.advance(2 * time.Minute)
			if n := r.job(lifecycle.Idle); n != 1 {
				t.Errorf("%d became idle", n)
			}
		})
	}
}

// Jobs, and operators, leave a session alone while its turn runs.
func TestSessionsInUse(t *testing.T) {
	r, c := aging(t)
	r.start()
	r.say(said("m1", "ann", "hello"))
	key := r.ends("m1", models.InboundDone).SessionKey
	r.delivered()
	r.say(said("m2", "ann", wait))
	r.running(wait)
	c.advance(400 * day)
	for _, job := range []string{lifecycle.Idle, lifecycle.Archive, lifecycle.Expire} {
		if n := r.job(job); n != 0 {
			t.Errorf("%s changed %d", job, n)
		}
	}
	ctx := context.Background()
	if change, err := r.gateway.Archive(ctx, key, false); err != nil || change.Changed != 0 || change.Reason != "in use" {
		t.Errorf("%+v %v", change, err)
	}
	elsewhere := strings.TrimSuffix(key, "group") + "other"
	if _, err := r.gateway.Move(ctx, key, elsewhere, false); !errors.Is(err, store.ErrConflict) {
		t.Errorf("%v", err)
	}
	r.wantState(key, models.SessionActive)
	r.mind.release()
	r.until("the turn is over", func() bool { in := r.inbound("m2"); return in.State.Final() })
	r.delivered()

	if change, err := r.gateway.Move(ctx, key, elsewhere, true); err != nil || change.Changed != 1 || !change.DryRun {
		t.Errorf("%+v %v", change, err)
	}
	if change, err := r.gateway.Move(ctx, key, elsewhere, false); err != nil || change.Changed != 1 {
		t.Errorf("%+v %v", change, err)
	}
	r.wantState(key, "gone")
	m := said("m3", "ann", "here now")
	m.Chat.ID = "other"
	r.say(m)
	r.ends("m3", models.InboundDone)
	if h := r.history("m3"); len(h) < 4 || h[0] != "user hello" || h[len(h)-1] != "assistant re: here now" {
		t.Errorf("history %q", h)
	}
	if _, err := r.gateway.Move(ctx, elsewhere, "no key", false); err == nil {
		t.Error("it moved to no key")
	}
}

// On a real database, jobs for which everything is due all the time never take a
// message from a person: each is answered.
func TestJobsNeverTouchBusySessions(t *testing.T) {
	r := newRig(t)
	s, err := gormstore.Open(context.Background(), gormstore.Config{Driver: gormstore.MySQL, DSN: testmysql.DSN(t), Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	r.store = s
	r.settings.Lifecycle = lifecycle.Settings{IdleTimeout: time.Nanosecond, ArchiveAfter: time.Nanosecond, TTL: time.Nanosecond, Location: time.UTC}
	r.chat.IsolateMembers, r.chat.Streaming = true, false
	r.start()
	stop := make(chan struct{})
	var passes sync.WaitGroup
	var changed [3]atomic.Int64
	for i, job := range []string{lifecycle.Idle, lifecycle.Archive, lifecycle.Expire} {
		passes.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					changed[i].Add(int64(r.job(job)))
				}
			}
		})
	}
	// People talk on until something expired between two of their messages.
	const people, least, most = 6, 12, 300
	var talk sync.WaitGroup
	var spoken atomic.Int64
	for p := range people {
		talk.Go(func() {
			answered := func(n int) {
				what := fmt.Sprintf("re: p%d says %d", p, n)
				r.until(what, func() bool { return r.shows(what) })
			}
			n := 0
			for ; n < least || changed[2].Load() == 0 && n < most; n++ {
				r.say(said(fmt.Sprintf("m%d-%d", p, n), fmt.Sprint("p", p), fmt.Sprintf("p%d says %d", p, n)))
				if n%3 == 0 { // the next ones come while it is answered
					answered(n)
				}
			}
			spoken.Add(int64(n))
			for i := range n {
				answered(i)
			}
		})
	}
	talk.Wait()
	close(stop)
	passes.Wait()
	if changed[2].Load() == 0 {
		t.Error("nothing expired in between: it was no race")
	}
	t.Logf("%d idle, %d archived, %d expired between %d messages", changed[0].Load(), changed[1].Load(), changed[2].Load(), spoken.Load())
}

func (r *rig) shows(what string) bool {
	return slices.ContainsFunc(r.platform.screen(), func(line string) bool { return strings.Contains(line, what) })
}
