package gormstore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
	"github.com/chatkeep/chatkeep/store/storetest"
)

const (
	crashDriver = "CHATKEEP_TEST_CRASH_DRIVER"
	crashDSN    = "CHATKEEP_TEST_CRASH_DSN"
	crashLease  = 500 * time.Millisecond
	crashLanes  = 4
)

// TestCrashWriter is the process that the crash tests kill: it writes until it
// dies and says on its output what was acknowledged.
func TestCrashWriter(t *testing.T) {
	dsn := os.Getenv(crashDSN)
	if dsn == "" {
		t.Skip("the process that TestCrash kills")
	}
	s := open(t, gormstore.Config{Driver: gormstore.Driver(os.Getenv(crashDriver)), DSN: dsn})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out sync.Mutex
	say := func(words ...any) {
		out.Lock()
		defer out.Unlock()
		fmt.Println(words...)
	}
	errs := make(chan error, crashLanes)
	for lane := range crashLanes {
		go func() { errs <- writeUntilKilled(ctx, s, lane, say) }()
	}
	t.Fatal(<-errs)
}

func crashKey(lane int) string { return fmt.Sprintf("agent:assistant:lane-%d", lane) }

// writeUntilKilled accepts messages of a lane and answers every second one at
// once, the others after the next has come.
func writeUntilKilled(ctx context.Context, s store.Store, lane int, say func(...any)) error {
	key, owner := crashKey(lane), store.ClaimRequest{Owner: fmt.Sprint(os.Getpid()), Lease: crashLease}
	for i := 0; ; i++ {
		now := clock.Real().Now()
		r := storetest.NewMessage(key, now)
		r.Claim = &owner
		a, err := s.Accept(ctx, r)
		if err != nil {
			return err
		}
		say("accepted", a.Inbound.ID)
		if a.Claim == nil {
			continue // a dead process holds the lane
		}
		turn := &store.Turn{Claim: *a.Claim, Inbounds: []*models.Inbound{a.Inbound}}
		for turn != nil {
			c := storetest.NewAnswer(turn, turn.Inbounds[0].ID, now)
			c.Deliveries = storetest.NewParts(turn, key, 2, now)
			c.Keep = crashLease
			if i%2 == 0 {
				more := storetest.NewMessage(key, now)
				if _, err := s.Accept(ctx, more); err != nil {
					return err
				}
				say("accepted", more.Inbound.ID)
				i++
			}
			done, err := s.CommitTurn(ctx, c)
			if err != nil {
				return err
			}
			say("committed", turn.Inbounds[0].ID)
			if turn = nil; done.Kept != nil {
				if turn, err = s.BeginTurn(ctx, *done.Kept, store.MergeRule{}); err != nil {
					return err
				}
			}
		}
	}
}

func TestCrash(t *testing.T) {
	eachMigrated(t, func(t *testing.T, cfg gormstore.Config) {
		l := &ledger{committed: map[string]bool{}}
		for round := range 4 { // on the same database: each finds what the one before left
			l.record(t, cfg, 15+40*round)
			s := open(t, cfg)
			l.check(t, s)
			closeStore(t, s)
		}
		s := open(t, cfg)
		recoverAll(t, s)
		for _, id := range l.accepted {
			l.committed[id] = true
		}
		l.check(t, s)
		t.Logf("%d acknowledged messages, 4 kills: none lost, none twice", len(l.accepted))
	})
}

// ledger holds what killed processes had been told.
type ledger struct {
	accepted  []string
	committed map[string]bool
}

// record runs a writer and kills it after so many lines.
func (l *ledger) record(t *testing.T, cfg gormstore.Config, lines int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestCrashWriter$", "-test.count=1")
	cmd.Env = append(os.Environ(), crashDriver+"="+string(cfg.Driver), crashDSN+"="+cfg.DSN)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	scanner, n := bufio.NewScanner(out), 0
	var rest []string
	for scanner.Scan() {
		word, id, found := strings.Cut(scanner.Text(), " ")
		switch {
		case found && word == "accepted":
			l.accepted = append(l.accepted, id)
		case found && word == "committed":
			l.committed[id] = true
		default:
			rest = append(rest, scanner.Text())
		}
		if n++; n == lines {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the writer was not killed: %v\n%s", err, strings.Join(rest, "\n"))
	}
}

// check compares the store with the ledger: what was acknowledged is there, and
// every turn is there whole or not at all.
func (l *ledger) check(t *testing.T, s store.Store) {
	t.Helper()
	ctx := t.Context()
	turns := map[string]int{}
	for lane := range crashLanes {
		key := crashKey(lane)
		session, err := s.Session(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		messages, err := s.Messages(ctx, key, models.DefaultSlot, 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(messages)%2 != 0 || session.MessageCount != len(messages) {
			t.Fatalf("%d messages, %d are counted", len(messages), session.MessageCount)
		}
		for i := 0; i < len(messages); i += 2 {
			id := messages[i+1].Content
			if messages[i].Content != "to "+id {
				t.Fatalf("half a turn: %q, %q", messages[i].Content, id)
			}
			turns[id]++
		}
	}
	for _, id := range l.accepted {
		in, err := s.Inbound(ctx, id)
		if err != nil {
			t.Fatalf("message %s was acknowledged: %v", id, err)
		}
		if done := in.State == models.InboundDone; done != (turns[id] == 1) || turns[id] > 1 || l.committed[id] && !done {
			t.Fatalf("message %s is %s and has %d turns, acknowledged: %v", id, in.State, turns[id], l.committed[id])
		}
	}
	deliveries := map[string]int{}
	q := store.DeliveryQuery{Limit: 1000}
	for {
		items, next, err := s.ListDeliveries(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range items {
			deliveries[d.InboundID]++
		}
		if next == "" {
			break
		}
		q.Cursor = next
	}
	for id, n := range turns {
		if n != 1 || deliveries[id] != 2 {
			t.Fatalf("message %s has %d turns and %d deliveries", id, n, deliveries[id])
		}
	}
}

// recoverAll runs what dead processes left, as another replica would.
func recoverAll(t *testing.T, s store.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		claims, err := s.ClaimLanes(ctx, store.ClaimRequest{Owner: "recovery", Lease: time.Minute}, crashLanes)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range claims {
			runLane(ctx, t, s, c)
		}
		stats, err := s.Stats(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if stats.Inbound[string(models.InboundReceived)]+stats.Inbound[string(models.InboundRunning)] == 0 {
			return
		}
		if err := clock.Sleep(ctx, clock.Real(), 20*time.Millisecond); err != nil {
			t.Fatalf("still waiting: %+v", stats.Inbound)
		}
	}
}

func runLane(ctx context.Context, t *testing.T, s store.Store, c store.Claim) {
	t.Helper()
	for claim := &c; claim != nil; {
		turn, err := s.BeginTurn(ctx, *claim, store.MergeRule{})
		if err != nil {
			t.Fatal(err)
		}
		if turn == nil {
			return
		}
		now := clock.Real().Now()
		commit := storetest.NewAnswer(turn, turn.Inbounds[0].ID, now)
		commit.Keep = time.Minute
		commit.Deliveries = storetest.NewParts(turn, c.SessionKey, 2, now)
		done, err := s.CommitTurn(ctx, commit)
		if err != nil {
			t.Fatal(err)
		}
		claim = done.Kept
	}
}
