package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// lever is a tool whose calls a person must approve. It counts them.
type lever struct {
	mu    sync.Mutex
	calls []string // idempotency keys
	hold  chan struct{}
	begun chan struct{}
}

func newLever() *lever { return &lever{begun: make(chan struct{}, 10)} }

func (*lever) Spec() agents.ToolSpec {
	return agents.ToolSpec{Name: "pull", Parameters: json.RawMessage(`{"type":"object"}`), NeedsApproval: true}
}

func (l *lever) Call(ctx context.Context, args json.RawMessage, key string) (agents.ToolResult, error) {
	l.mu.Lock()
	l.calls = append(l.calls, key)
	hold := l.hold
	l.mu.Unlock()
	l.begun <- struct{}{}
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return agents.ToolResult{}, ctx.Err()
		}
	}
	return agents.ToolResult{Text: "pulled " + string(args)}, nil
}

func (l *lever) pulled() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.calls...)
}

// pullRig is a rig whose model pulls the lever when a person asks it to, and else says
// what it heard.
func pullRig(t *testing.T) (*toolRig, *lever) {
	t.Helper()
	l := newLever()
	r := newToolRig(t, 100_000, 30*time.Second, l)
	r.provider.Otherwise(func(req *agenttest.ChatRequest) agenttest.Reply {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == "user" && strings.Contains(last.Text(), "pull") && !strings.Contains(last.Text(), "the call of") {
			thought := "Shall I?"
			return agenttest.Reply{Reasoning: &thought, ToolCalls: []agenttest.ReplyCall{{ID: "call_0", Name: "pull", Arguments: `{ "b": 1, "a": "x" }`}}}
		}
		return agenttest.Say("I heard: " + last.Text())
	})
	return r, l
}

var approvalCode = regexp.MustCompile("`/approve ([0-9A-Z]{8})`")

// code waits for the question and returns its code.
func (r *toolRig) code() string {
	r.t.Helper()
	var code string
	r.until("somebody is asked", func() bool {
		for _, line := range r.delivered() {
			if found := approvalCode.FindStringSubmatch(line); found != nil {
				code = found[1]
			}
		}
		return code != ""
	})
	return code
}

func (r *toolRig) approval(code string) *models.Approval {
	r.t.Helper()
	a, err := r.store.Approval(context.Background(), code)
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

func (r *toolRig) noRejections() {
	r.t.Helper()
	for _, refused := range r.provider.Rejections() {
		r.t.Errorf("the provider refused a request: %s", refused.Message)
	}
}

func TestCallWaitsForApprovalAndRunsOnce(t *testing.T) {
	r, l := pullRig(t)
	r.start()
	r.say(whisper("m1", "ann", "pull it"))
	r.ends("m1", models.InboundDone)
	code := r.code()
	lines := r.delivered()
	if len(lines) != 2 || !strings.Contains(lines[0], "a person must approve") || !strings.Contains(lines[1], `"a": "x"`) || len(l.pulled()) != 0 {
		t.Fatalf("people see %q, pulled %q", lines, l.pulled())
	}
	var buttons []models.Button
	for _, d := range r.deliveries() {
		buttons = append(buttons, d.Buttons...)
	}
	if len(buttons) != 2 || buttons[0].Value != "approve:"+code || buttons[1].Value != "deny:"+code {
		t.Errorf("buttons %+v", buttons)
	}
	pending, _, err := r.store.ListApprovals(context.Background(), store.ApprovalQuery{State: models.ApprovalPending})
	if err != nil || len(pending) != 1 || pending[0].Code != code || pending[0].SenderName != "Name of ann" {
		t.Errorf("pending %+v, %v", pending, err)
	}

	r.say(whisper("m2", "ann", "/approve "+strings.ToLower(code)))
	in := r.ends("m2", models.InboundDone)
	if want := `I heard: pulled {"a":"x","b":1}`; in.Reply.Content != want {
		t.Errorf("the answer is %q, want %q", in.Reply.Content, want)
	}
	if pulls := l.pulled(); len(pulls) != 1 || pulls[0] == "" || pulls[0] != r.approval(code).Key {
		t.Errorf("pulled %q", pulls)
	}
	equal(t, "history", r.history("m2"),
		"user pull it", "assistant ", "tool Not run yet: a person must approve this call first and has been asked. Its result comes in a later message. Do not call it again meanwhile; tell the user that it waits.",
		"assistant I heard: Not run yet: a person must approve this call first and has been asked. Its result comes in a later message. Do not call it again meanwhile; tell the user that it waits.",
		"user "+text.Say(text.English, text.ApprovedWords, "pull"), "assistant ", `tool pulled {"a":"x","b":1}`, `assistant I heard: pulled {"a":"x","b":1}`)

	r.say(whisper("m3", "ann", "/approve "+code))
	if again := r.ends("m3", models.InboundDone); again.Reply.Content != text.Say(text.English, text.ApprovalWasApproved, "Name of ann") {
		t.Errorf("a second approval says %q", again.Reply.Content)
	}
	r.say(whisper("m4", "ann", "/deny "+code))
	r.ends("m4", models.InboundDone)
	r.say(whisper("m5", "ann", "thanks"))
	r.ends("m5", models.InboundDone)
	if len(l.pulled()) != 1 {
		t.Errorf("pulled %q", l.pulled())
	}
	r.noRejections()
}

func TestButtonsDecide(t *testing.T) {
	r, l := pullRig(t)
	r.start()
	r.say(whisper("m1", "ann", "pull it"))
	code := r.code()
	press := func(id, value string) {
		r.event(&adapters.Event{ID: id, Kind: adapters.ActionButton, Value: value, Sender: adapters.Sender{ID: "ann", Name: "Ann"}, MessageID: "om_card", At: time.Now()})
	}
	press("e0", "something else")
	press("e1", "approve:"+code)
	press("e1", "approve:"+code) // the platform sends it again
	in := r.ends("press:e1", models.InboundDone)
	if !strings.Contains(in.Reply.Content, "pulled") {
		t.Errorf("the answer is %q", in.Reply.Content)
	}
	press("e2", "deny:"+code)
	if in := r.ends("press:e2", models.InboundDone); !strings.Contains(in.Reply.Content, "approved already") {
		t.Errorf("a second press says %q", in.Reply.Content)
	}
	press("e3", "approve:NOSUCHCD")
	if len(l.pulled()) != 1 {
		t.Errorf("pulled %q", l.pulled())
	}
	for _, d := range r.deliveries() {
		if d.InboundID == in.ID && (d.Target.ReplyTo != "" || d.Target.ChatID != "direct-ann" || !d.Target.Direct) {
			t.Errorf("the answer goes to %+v", d.Target)
		}
	}
}

func TestDeniedCallIsNotMade(t *testing.T) {
	r, l := pullRig(t)
	r.start()
	r.say(whisper("m1", "ann", "pull it"))
	code := r.code()
	r.say(whisper("m2", "ann", "/approve "+code+" no"))
	in := r.ends("m2", models.InboundDone)
	if !strings.Contains(in.Reply.Content, "Name of ann denied this call") || len(l.pulled()) != 0 {
		t.Errorf("the model says %q, pulled %q", in.Reply.Content, l.pulled())
	}
	if state := r.approval(code).State; state != models.ApprovalDenied {
		t.Errorf("state %s", state)
	}
	r.noRejections()
}

// Whoever asked may decide, and administrators; nobody else learns that there is a call.
func TestWhoMayDecide(t *testing.T) {
	r, l := pullRig(t)
	r.chat.Access.Admins = []string{"boss"}
	r.start()
	r.say(said("m1", "ann", "pull it"))
	code := r.code()
	missing := text.Say(text.English, text.ApprovalMissing, code)
	r.say(said("m2", "bob", "/approve "+code)) // of the same group and session
	if in := r.ends("m2", models.InboundDone); in.Reply.Content != missing {
		t.Errorf("bob is told %q", in.Reply.Content)
	}
	r.say(whisper("m3", "bob", "/approve "+code)) // from elsewhere
	if in := r.ends("m3", models.InboundDone); in.Reply.Content != missing {
		t.Errorf("bob is told %q", in.Reply.Content)
	}
	r.say(whisper("m4", "boss", "/approve "+code))
	in := r.ends("m4", models.InboundDone)
	if !strings.Contains(in.Reply.Content, "pulled") || len(l.pulled()) != 1 || in.SessionKey != r.inbound("m1").SessionKey {
		t.Errorf("the administrator is told %q in %s", in.Reply.Content, in.SessionKey)
	}
	if a := r.approval(code); a.DecidedBy != "Name of boss" || a.DecidedIn != in.ID {
		t.Errorf("decided by %q in %q", a.DecidedBy, a.DecidedIn)
	}
}

func TestExpiredAndForgottenCalls(t *testing.T) {
	r, l := pullRig(t)
	r.settings.ApprovalExpiry = time.Millisecond
	r.start()
	r.say(whisper("m1", "ann", "pull it"))
	code := r.code()
	r.until("it has expired", func() bool { return r.approval(code).At(time.Now()) == models.ApprovalExpired })
	r.say(whisper("m2", "ann", "/approve "+code))
	if in := r.ends("m2", models.InboundDone); in.Reply.Content != text.Say(text.English, text.ApprovalExpired) {
		t.Errorf("it says %q", in.Reply.Content)
	}
	if _, err := r.gateway.Decide(context.Background(), code, true); !errors.Is(err, gateway.ErrDecided) {
		t.Errorf("the operator gets %v", err)
	}
	r.say(whisper("m3", "ann", "/reset"))
	r.ends("m3", models.InboundDone)
	if _, err := r.gateway.Decide(context.Background(), code, true); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("after a reset the operator gets %v", err)
	}
	for id, said := range map[string]string{"m4": "/approve", "m5": "/approve a b c", "m6": "/deny"} {
		r.say(whisper(id, "ann", said))
		if in := r.ends(id, models.InboundDone); in.Reply.Content != text.Say(text.English, text.ApprovalUsage) {
			t.Errorf("%s says %q", said, in.Reply.Content)
		}
	}
	if len(l.pulled()) != 0 {
		t.Errorf("pulled %q", l.pulled())
	}
}

func TestOperatorDecides(t *testing.T) {
	r, l := pullRig(t)
	r.chat.Access.Direct = "allowlist"
	r.chat.Access.AllowUsers = []string{"ann"}
	r.start()
	r.say(whisper("m1", "ann", "pull it"))
	code := r.code()
	before := len(r.delivered())
	a, err := r.gateway.Decide(context.Background(), code, true)
	if err != nil || a.DecidedBy != "admin" {
		t.Fatalf("decided %+v, %v", a, err)
	}
	if _, err := r.gateway.Decide(context.Background(), code, false); !errors.Is(err, gateway.ErrDecided) {
		t.Errorf("deciding again gets %v", err)
	}
	r.until("the answer is in the chat", func() bool { return len(r.delivered()) > before })
	lines := r.platform.where()
	if last := lines[len(lines)-1]; last != `direct-ann/: I heard: pulled {"a":"x","b":1}` || len(lines) != before+1 {
		t.Errorf("people see %q", lines)
	}
	if len(l.pulled()) != 1 {
		t.Errorf("pulled %q", l.pulled())
	}
}

// An approved call is begun once: a model that fails afterwards, a process that dies in
// it and a person who tries again do not make it happen twice.
func TestApprovedCallIsNeverMadeTwice(t *testing.T) {
	t.Run("the model fails", func(t *testing.T) {
		r, l := pullRig(t)
		r.start()
		r.say(whisper("m1", "ann", "pull it"))
		code := r.code()
		r.provider.Script(agenttest.Fail(http.StatusBadRequest, "bad_request", "no"))
		r.say(whisper("m2", "ann", "/approve "+code))
		r.ends("m2", models.InboundFailed)
		r.say(whisper("m3", "ann", "/retry"))
		r.ends("m3", models.InboundDone)
		in := r.ends("m2", models.InboundDone)
		if !strings.Contains(in.Reply.Content, "pulled") || len(l.pulled()) != 1 {
			t.Errorf("the answer is %q, pulled %q", in.Reply.Content, l.pulled())
		}
		r.noRejections()
	})
	t.Run("two replicas are told at once", func(t *testing.T) {
		r, l := pullRig(t)
		drain := r.run()
		one := r.gateway
		defer func() {
			if err := <-drain(); err != nil {
				t.Error(err)
			}
		}()
		r.config.Owner = "another replica"
		r.start()
		r.say(whisper("m1", "ann", "pull it"))
		code := r.code()
		var told sync.WaitGroup
		var decided atomic.Int64
		for i := range 8 {
			g := []*gateway.Gateway{one, r.gateway}[i%2]
			told.Go(func() {
				if _, err := g.Decide(context.Background(), code, true); err == nil {
					decided.Add(1)
				} else if !errors.Is(err, gateway.ErrDecided) {
					t.Error(err)
				}
			})
		}
		told.Wait()
		r.until("the call is made", func() bool { return r.approval(code).State == models.ApprovalDone })
		r.delivered()
		if len(l.pulled()) != 1 || decided.Load() != 1 {
			t.Errorf("pulled %q, decided %d times", l.pulled(), decided.Load())
		}
	})
	t.Run("the process dies", func(t *testing.T) {
		r, l := pullRig(t)
		l.hold = make(chan struct{})
		r.config.Grace, r.config.Lease = time.Millisecond, lease
		drain := r.run()
		r.say(whisper("m1", "ann", "pull it"))
		code := r.code()
		r.say(whisper("m2", "ann", "/approve "+code))
		<-l.begun
		if err := <-drain(); err != nil {
			t.Fatal(err)
		}
		r.platform = newPlatform()
		r.start() // another process
		in := r.ends("m2", models.InboundDone)
		if !strings.Contains(in.Reply.Content, "nobody knows whether it took effect") && !strings.Contains(in.Reply.Content, "context canceled") || len(l.pulled()) != 1 {
			t.Errorf("the answer is %q, pulled %q", in.Reply.Content, l.pulled())
		}
	})
}

// A call that is gone, with its session, is not waited for.
func TestCallThatIsGoneIsNotMade(t *testing.T) {
	r := newRig(t).start()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	result := r.gateway.Once(ctx, "NOSUCHCODE", func(context.Context) agents.ToolResult {
		t.Error("the call was made")
		return agents.ToolResult{}
	})
	if !result.IsError || !strings.Contains(result.Text, "was not run") {
		t.Errorf("result %+v", result)
	}
	if ctx.Err() != nil {
		t.Error("it was waited for")
	}
}

// Whoever fetches an answer learns of the call there, and the one who approves gets the
// answer to it.
func TestApprovalOfWhoFetchesAnswers(t *testing.T) {
	r, l := pullRig(t)
	r.start()
	first := r.fetched("m1", "pull it")
	if len(first.Reply.Approvals) != 1 || len(first.Reply.Notices) != 1 || first.Reply.Approvals[0].Tool != "pull" {
		t.Fatalf("reply %+v", first.Reply)
	}
	second := r.fetched("m2", "/approve "+first.Reply.Approvals[0].Code)
	if !strings.Contains(second.Reply.Content, "pulled") || len(l.pulled()) != 1 {
		t.Errorf("reply %+v", second.Reply)
	}
}

// A card shows which tools run, before there is any text and beside it, and in the end
// the answer alone.
func TestCardShowsRunningTools(t *testing.T) {
	hold := make(chan struct{})
	slow := function{"slow", func() agents.ToolResult {
		<-hold
		return agents.ToolResult{Text: "ready"}
	}}
	r := newToolRig(t, 100_000, 30*time.Second, slow)
	r.chat.Streaming = true
	r.provider.Script(
		agenttest.Reply{Text: "One moment.", Reasoning: new(string), ToolCalls: []agenttest.ReplyCall{{ID: "1", Name: "slow", Arguments: "{}"}}},
		agenttest.Say("It is ready."))
	r.start()
	r.say(whisper("m1", "ann", "go"))
	shows := func(want string) func() bool {
		return func() bool {
			r.platform.mu.Lock()
			defer r.platform.mu.Unlock()
			for _, c := range r.platform.cards {
				if c.shown && c.text == want {
					return true
				}
			}
			return false
		}
	}
	r.until("the card shows the tool", shows("One moment.\n\n"+text.Say(text.English, text.ToolRunning, "`slow`")))
	close(hold)
	r.ends("m1", models.InboundDone)
	r.until("the card shows the answer", shows("It is ready."))
	equal(t, "screen", r.delivered(), "It is ready.")
}

// A task's call is decided on in the chat that the task speaks in, by its owner; the
// answer becomes part of that chat's history, as the task's own does.
func TestApprovalOfATask(t *testing.T) {
	r, l := pullRig(t)
	r.start()
	r.scheduled("nightly", func(task *models.Task) { task.Prompt = "pull it" })
	r.ran("nightly", 1)
	code := r.code()
	r.say(said("m1", "bob", "/approve "+code))
	if in := r.ends("m1", models.InboundDone); in.Reply.Content != text.Say(text.English, text.ApprovalMissing, code) {
		t.Errorf("bob is told %q", in.Reply.Content)
	}
	r.say(said("m2", "lin", "/approve "+code))
	in := r.ends("m2", models.InboundDone)
	if !strings.Contains(in.Reply.Content, "pulled") || in.SessionKey != "agent:assistant:channel:chat:scope:task:nightly" || len(l.pulled()) != 1 {
		t.Errorf("the owner is told %q in %s", in.Reply.Content, in.SessionKey)
	}
	r.delivered()
	r.say(said("m3", "lin", "what was that?"))
	r.ends("m3", models.InboundDone)
	history := strings.Join(r.history("m3"), "\n")
	if !strings.Contains(history, `assistant I heard: pulled`) || strings.Contains(history, "Approval needed") {
		t.Errorf("the chat's history is\n%s", history)
	}
	for _, line := range r.platform.where() {
		if !strings.HasPrefix(line, "group/: ") {
			t.Errorf("somebody reads %q", line)
		}
	}
}
