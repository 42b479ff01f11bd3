package gateway_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// direct is a message to the bot alone.
func direct(id, user, text string) *adapters.Message {
	m := said(id, user, text)
	m.Chat = adapters.Chat{ID: "chat-" + user, Type: adapters.Direct}
	return m
}

var pairingCode = regexp.MustCompile(`P-[2-9A-Z]{6}`)

// told waits until people see n lines and returns them.
func (r *rig) told(n int) []string {
	r.t.Helper()
	r.until(fmt.Sprint(n, " lines are shown"), func() bool { return len(r.platform.screen()) >= n })
	return r.delivered()
}

func newPairing(t *testing.T) *rig {
	r := newRig(t)
	r.chat.Access = access.Policy{Direct: access.Pairing, Groups: access.Pairing, Admins: []string{"root"}}
	return r
}

func TestPairing(t *testing.T) {
	t.Parallel()
	r := newPairing(t).start()
	for i := range 5 {
		r.say(direct(fmt.Sprint("m", i), "ann", "let me in: my canary"))
		r.ends(fmt.Sprint("m", i), models.InboundIgnored)
	}
	screen := r.told(1)
	code := pairingCode.FindString(screen[0])
	if code == "" || len(screen) != 1 {
		t.Fatalf("screen %q", screen)
	}
	// Only an administrator may decide, and only with the right code.
	r.say(direct("w1", "ann", "/approve "+code))
	r.ends("w1", models.InboundIgnored)
	r.say(direct("w2", "root", "/approve P-222222"))
	r.ends("w2", models.InboundDone)
	r.say(direct("w3", "root", "/pair"))
	r.ends("w3", models.InboundDone)
	if list := r.told(3)[2]; !strings.Contains(list, code) || !strings.Contains(list, "Name of ann") {
		t.Errorf("list %q", list)
	}
	r.say(direct("w4", "root", "/approve "+strings.ToLower(code)))
	r.ends("w4", models.InboundDone)
	screen = r.told(5)
	for _, want := range []string{"There is no request P-222222", "Name of ann may use me now.", "You may use this bot now."} {
		if !strings.Contains(strings.Join(screen, "\n"), want) {
			t.Errorf("%q is not said in %q", want, screen)
		}
	}
	r.say(direct("m9", "ann", "hello"))
	r.ends("m9", models.InboundDone)
	equal(t, "asked", r.mind.asked(), "hello")
	if where := strings.Join(r.platform.where(), "\n"); !strings.Contains(where, "chat-ann/: You may use this bot now.") {
		t.Errorf("said in %s", where)
	}
	// What was granted can be taken back, and holds at once.
	grants, _, err := r.store.ListAccess(context.Background(), store.AccessQuery{})
	if err != nil || len(grants) != 1 || grants[0].DecidedBy != "chat/main/root" {
		t.Fatalf("grants %+v, %v", grants, err)
	}
	if _, err := r.store.RemoveAccess(context.Background(), grants[0].ID); err != nil {
		t.Fatal(err)
	}
	r.say(direct("m10", "ann", "and again"))
	r.ends("m10", models.InboundIgnored)
	equal(t, "asked", r.mind.asked(), "hello")
}

func TestDeniedRequestsStayDenied(t *testing.T) {
	t.Parallel()
	r := newPairing(t).start()
	r.say(direct("m1", "ann", "hello"))
	code := pairingCode.FindString(r.told(1)[0])
	r.say(direct("w1", "root", "/deny "+code))
	r.ends("w1", models.InboundDone)
	r.told(3)
	r.say(direct("m2", "ann", "hello?"))
	r.ends("m2", models.InboundIgnored)
	r.say(direct("w2", "root", "/pair"))
	r.ends("w2", models.InboundDone)
	if screen := r.told(4); !strings.Contains(screen[3], "Nobody asks") || !strings.Contains(strings.Join(screen, "\n"), "was denied") {
		t.Errorf("screen %q", screen)
	}
}

func TestGroupsArePairedAsAWhole(t *testing.T) {
	t.Parallel()
	r := newPairing(t).start()
	talk := said("m0", "ann", "among us")
	talk.Mentioned = false
	r.say(talk)
	r.ends("m0", models.InboundIgnored)
	r.say(said("m1", "ann", "hello"))
	r.say(said("m2", "bob", "hello"))
	r.ends("m2", models.InboundIgnored)
	screen := r.told(1)
	code := pairingCode.FindString(screen[0])
	r.say(said("w1", "root", "/approve "+code))
	r.ends("w1", models.InboundDone)
	r.told(3)
	for _, who := range []string{"ann", "bob"} {
		r.say(said("h-"+who, who, "I am "+who))
		r.ends("h-"+who, models.InboundDone)
	}
	equal(t, "asked", r.mind.asked(), "I am ann", "I am bob")
	other := said("m3", "ann", "hello")
	other.Chat.ID = "another group"
	r.say(other)
	r.ends("m3", models.InboundIgnored)
}

// Requests wait on every replica, and survive a restart.
func TestPairingHoldsForAllReplicas(t *testing.T) {
	t.Parallel()
	r := newPairing(t).start()
	r.say(direct("m1", "ann", "hello"))
	code := pairingCode.FindString(r.told(1)[0])
	second := *r
	second.platform, second.config.Owner = newPlatform(), "second"
	second.start()
	second.say(direct("m2", "ann", "hello"))
	second.ends("m2", models.InboundIgnored)
	second.say(direct("w1", "root", "/pair "+code))
	second.ends("w1", models.InboundDone)
	r.say(direct("m3", "ann", "hello"))
	r.ends("m3", models.InboundDone)
	codes := 0
	for _, d := range r.deliveries() {
		if pairingCode.MatchString(d.Text) {
			codes++
		}
	}
	if codes != 1 {
		t.Errorf("the code was told %d times", codes)
	}
}

func TestWrongCodesAreBounded(t *testing.T) {
	t.Parallel()
	r := newPairing(t).start()
	r.say(direct("m1", "ann", "hello"))
	code := pairingCode.FindString(r.told(1)[0])
	for i := range access.MaxTries {
		r.say(direct(fmt.Sprint("w", i), "root", "/approve "+access.NewCode()))
		r.ends(fmt.Sprint("w", i), models.InboundDone)
	}
	r.say(direct("last", "root", "/approve "+code))
	r.ends("last", models.InboundDone)
	pending, _, err := r.store.ListAccess(context.Background(), store.AccessQuery{State: models.AccessPending, Now: clock.Real().Now()})
	if err != nil || len(pending) != 1 {
		t.Errorf("pending %+v, %v", pending, err)
	}
}

func TestPendingRequestsAreBounded(t *testing.T) {
	t.Parallel()
	r := newPairing(t).start()
	for i := range access.MaxPending + 3 {
		r.say(direct(fmt.Sprint("m", i), fmt.Sprint("user-", i), "hello"))
	}
	screen := r.told(access.MaxPending + 3)
	codes := 0
	for _, line := range screen {
		if pairingCode.MatchString(line) {
			codes++
		} else if !strings.HasPrefix(line, "You may not use this bot here.") {
			t.Errorf("said %q", line)
		}
	}
	if codes != access.MaxPending {
		t.Errorf("%d codes", codes)
	}
}

func TestStrangersAreNotGreeted(t *testing.T) {
	t.Parallel()
	r := newPairing(t).start()
	r.event(&adapters.Event{ID: "e1", Kind: adapters.ChatEntered, Chat: adapters.Chat{ID: "chat-ann"}, Sender: adapters.Sender{ID: "ann"}})
	r.event(&adapters.Event{ID: "e2", Kind: adapters.BotAdded, Chat: adapters.Chat{ID: "group"}, Sender: adapters.Sender{ID: "ann"}})
	r.event(&adapters.Event{ID: "e3", Kind: adapters.BotAdded, Chat: adapters.Chat{ID: "group"}, Sender: adapters.Sender{ID: "root"}})
	if screen := r.told(1); len(screen) != 1 {
		t.Errorf("screen %q", screen)
	}
}

func TestWhoAmI(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.chat.Access.Admins = []string{"root"}
	r.start()
	r.say(direct("m1", "ann", "/whoami"))
	in := r.ends("m1", models.InboundDone)
	r.told(1) // chats do not wait for each other
	r.say(direct("m2", "root", "/whoami"))
	r.ends("m2", models.InboundDone)
	screen := r.told(2)
	for i, role := range []string{"Role: user", "Role: administrator"} {
		if !strings.Contains(screen[i], role) {
			t.Errorf("said %q", screen[i])
		}
	}
	if !strings.Contains(screen[0], "You: ann") || !strings.Contains(screen[0], "Chat: chat-ann") || !strings.Contains(screen[0], "Session: "+in.SessionKey) {
		t.Errorf("said %q", screen[0])
	}
}
