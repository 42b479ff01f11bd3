package crashtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// ledger remembers what the gateway has taken responsibility for: every message
// with a 2xx or a platform's acknowledgement, in order per conversation.
type ledger struct {
	mu      sync.Mutex
	entries []entry
}

type entry struct {
	conversation string
	messageID    string // as the sender named it
	text         string
	acceptedAt   time.Time
}

func (l *ledger) add(conversation, messageID, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, entry{conversation, messageID, text, time.Now()})
}

func (l *ledger) all() []entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries)
}

// tally is what a series of rounds came to.
type tally struct {
	mu                                 sync.Mutex
	rounds, kills, accepted            int
	lost, doubled, unordered, overlaps int
	shownTwice                         map[string]int
	recovery                           []time.Duration
	late                               int // recoveries that took longer than a lease and a second
}

func (y *tally) String() string {
	slices.Sort(y.recovery)
	return fmt.Sprintf("%d rounds, %d kills: lost %d of %d, doubled %d, out of order %d, overlapping %d, shown twice %v; recovery p50 %s p99 %s max %s, late %d of %d",
		y.rounds, y.kills, y.lost, y.accepted, y.doubled, y.unordered, y.overlaps, y.shownTwice,
		quantile(y.recovery, 0.50), quantile(y.recovery, 0.99), quantile(y.recovery, 1), y.late, len(y.recovery))
}

// took notes how long a session stayed stuck after its process died. A lease and a
// second are promised, and held against the gateway where the machine was not late
// itself: a lease that a stalled disk kept from being renewed takes another one.
func (y *tally) took(t *testing.T, session string, from, to time.Time, m *machine) {
	t.Helper()
	const most, forgiven = lease + time.Second, lease / 4
	y.recovery = append(y.recovery, to.Sub(from))
	if to.Sub(from) <= most {
		return
	}
	y.late++
	if lost := m.lost(from, to); lost < forgiven {
		t.Errorf("%s stayed stuck for %s; the machine was %s late", session, to.Sub(from), lost)
	}
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))].Round(time.Millisecond)
}

// settle waits until every message of the ledger has its outcome and nothing is
// left to send, and returns the messages by the sender's id.
func settle(t *testing.T, c *client, l *ledger, within time.Duration) map[string]inbound {
	t.Helper()
	var found map[string]inbound
	var why string
	settled := func() bool {
		rows, err := all[inbound](c, "/admin/v1/inbound")
		if err != nil {
			why = err.Error()
			return false
		}
		found = make(map[string]inbound, len(rows))
		for _, in := range rows {
			if in.State == "received" || in.State == "running" {
				why = fmt.Sprintf("%s is %s", in.PlatformMessageID, in.State)
				return false
			}
			found[in.PlatformMessageID] = in
		}
		sent, err := all[delivery](c, "/admin/v1/deliveries")
		if err != nil {
			why = err.Error()
			return false
		}
		for _, d := range sent {
			if d.State == "pending" || d.State == "sending" {
				why = fmt.Sprintf("delivery %s is %s: %s", d.Text, d.State, d.Error)
				return false
			}
		}
		return true
	}
	deadline := time.After(within)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for quiet := 0; quiet < 2; { // lists are read state by state: what moves meanwhile may be missed once
		if quiet++; !settled() {
			quiet = 0
		}
		select {
		case <-deadline:
			t.Fatalf("not settled after %s: %s", within, why)
		case <-tick.C:
		}
	}
	return found
}

// check compares the ledger with what is stored: every message done exactly once,
// every conversation's history whole, in order, and nothing else in it.
func check(t *testing.T, c *client, l *ledger, found map[string]inbound, y *tally) {
	t.Helper()
	byConversation := map[string][]entry{}
	for _, e := range l.all() {
		byConversation[e.conversation] = append(byConversation[e.conversation], e)
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	for conversation, entries := range byConversation {
		key := ""
		for _, e := range entries {
			y.accepted++
			in, ok := found[e.messageID]
			switch {
			case !ok:
				y.lost++
				t.Errorf("%s: %s was accepted and is gone", conversation, e.messageID)
				continue
			case in.State != "done":
				y.lost++
				t.Errorf("%s: %s is %s: %s", conversation, e.messageID, in.State, in.Error)
			}
			key = cmp.Or(key, in.SessionKey)
			if in.SessionKey != key {
				t.Errorf("%s: spread over sessions %s and %s", conversation, key, in.SessionKey)
			}
		}
		history, err := c.history(key)
		if err != nil {
			t.Errorf("%s: %v", conversation, err)
			continue
		}
		y.compare(t, conversation, entries, history)
	}
}

// compare checks that a history is user and assistant in turn, in the order of acceptance.
func (y *tally) compare(t *testing.T, conversation string, entries []entry, history []message) {
	t.Helper()
	var want, got []string
	for _, e := range entries {
		want = append(want, "user "+e.text, "assistant "+answerTo(e.text))
	}
	count := map[string]int{}
	for _, m := range history {
		line := m.Role + " " + m.Content
		got = append(got, line)
		count[line]++
	}
	if slices.Equal(want, got) {
		return
	}
	for _, line := range want {
		switch n := count[line]; {
		case n == 0:
			y.lost++
		case n > 1:
			y.doubled++
		}
	}
	if len(want) == len(got) {
		y.unordered++
	}
	t.Errorf("%s: history is\n\t%s\nwant\n\t%s", conversation, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
}
