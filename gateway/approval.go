package gateway

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

const (
	// approvalExpiry is how long a call waits where the settings do not say.
	approvalExpiry = 24 * time.Hour
	// shownArguments is how much of a call's arguments a person is shown, in bytes. All
	// of them are in the admin API.
	shownArguments = 1500
	// codeLength makes a code that nobody guesses; it is typed on phones.
	codeLength = 8
	// beginPause is between attempts to note that a call begins, while the database is away.
	beginPause = 200 * time.Millisecond
)

// decision is what the envelope of a message holds that decided on a call.
type decision struct {
	Code   string `json:"code"`
	Denied bool   `json:"denied,omitempty"`
	By     string `json:"by"`
	// Chat is the session that the delivered answer becomes part of; nil: none.
	Chat *models.Session `json:"chat,omitempty"`
	// Background makes it background of that session instead.
	Background bool `json:"background,omitempty"`
}

// withApprovals adds the calls of a turn that wait for a person to what it came to.
// Whoever fetches the answer is asked there.
func (r *turn) withApprovals(res *result, calls []agents.HeldCall) *result {
	approvals, err := r.held(calls)
	if err != nil {
		return failed(models.InboundFailed, models.CodeAgentFailed, oneLine(err.Error()), text.Say(r.lang, text.AgentFailed, r.code()))
	}
	res.approvals = approvals
	if !r.env.Pulled {
		return res
	}
	for _, a := range approvals {
		reply := res.outcome.Reply
		reply.Notices = append(reply.Notices, r.question(a))
		reply.Approvals = append(reply.Approvals, models.HeldCall{Code: a.Code, Tool: a.Tool, Arguments: r.mayShow(a.Arguments), ExpiresAt: a.ExpiresAt})
	}
	return res
}

// held turns the calls of a turn that wait for a person into what is stored of them.
func (r *turn) held(calls []agents.HeldCall) ([]*models.Approval, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	place, err := r.place().encode()
	if err != nil {
		return nil, err
	}
	now := r.g.now()
	out := make([]*models.Approval, len(calls))
	for i, call := range calls {
		out[i] = &models.Approval{
			Code: models.NewCode(codeLength), SessionKey: r.head.SessionKey, Slot: r.head.Slot, InboundID: r.head.ID, AgentID: r.env.AgentID,
			Channel: r.head.Channel, Account: r.head.Account, SenderID: r.env.Message.Sender.ID, SenderName: clip(r.env.Message.Sender.Name),
			Tool: call.Tool, Arguments: string(call.Arguments), Key: call.Key, Reasoning: call.Reasoning, Payload: place,
			State: models.ApprovalPending, CreatedAt: now, ExpiresAt: now.Add(cmp.Or(r.settings.ApprovalExpiry, approvalExpiry)),
		}
	}
	return out, nil
}

// clip cuts a name to what is stored of one.
func clip(name string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(name[:min(len(name), models.MaxForeignID)], "\x00", ""), "")
}

// place is where a turn runs, for the turn that will follow a decision.
func (r *turn) place() *envelope {
	m := r.env.Message
	place := *r.env
	place.Command, place.Decided, place.Run = nil, nil, nil
	place.Message = &adapters.Message{Chat: m.Chat, Sender: m.Sender, Mentioned: true, Ref: m.Ref}
	switch run := r.env.Run; {
	case run != nil && run.Target == nil: // the answer is read where it is kept
		place.Pulled = true
	case run != nil && run.Target.URL != "":
		place.Message.Chat, place.Message.Ref = adapters.Chat{ID: run.Target.ChatID, Type: adapters.Direct}, run.Target.model().Ref
	case run != nil:
		place.Decided = &decision{Chat: run.Chat, Background: run.Background}
		place.Message.Chat = adapters.Chat{ID: run.Target.ChatID, ThreadID: run.Target.ThreadID, Type: adapters.Group}
		if run.Target.Direct {
			place.Message.Chat.Type, place.Message.Sender.ID = adapters.Direct, run.Target.UserID
		}
	case r.env.Decided != nil:
		place.Decided = &decision{Chat: r.env.Decided.Chat, Background: r.env.Decided.Background}
	}
	return &place
}

// asks are the messages that ask people to decide on calls.
func (r *turn) asks(approvals []*models.Approval) []*models.Delivery {
	if r.env.Pulled || r.head.Channel == key.ChannelTask {
		return nil // there is nobody to be asked, or whoever waits reads it in the answer
	}
	var out []*models.Delivery
	for _, a := range approvals {
		parts := r.g.deliveries(r.head, r.env, r.question(a), models.DeliveryNotice)
		if len(parts) > 0 {
			parts[len(parts)-1].Buttons = []models.Button{
				{Label: text.Say(r.lang, text.ApproveButton), Value: approveAction + a.Code, Primary: true},
				{Label: text.Say(r.lang, text.DenyButton), Value: denyAction + a.Code},
			}
		}
		out = append(out, parts...)
	}
	return out
}

// question is what a person is told about a call.
func (r *turn) question(a *models.Approval) string {
	return text.Say(r.lang, text.ApprovalAsk, a.Tool, cmp.Or(a.SenderName, a.SenderID), readable(r.mayShow(a.Arguments)), a.Code, a.Code,
		a.ExpiresAt.In(r.settings.location()).Format("2006-01-02 15:04 MST"))
}

// mayShow is what people may read of arguments: a model wrote them, as it writes answers.
func (r *turn) mayShow(arguments string) string {
	masked, refused := r.settings.Words.Out.Apply(arguments)
	if refused {
		return "…"
	}
	return masked
}

// readable lays arguments out for people.
func readable(arguments string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(arguments), "", "  ") != nil {
		out.Reset()
		out.WriteString(arguments)
	}
	text := strings.ReplaceAll(out.String(), "```", "'''") // it stands in a fence
	if len(text) > shownArguments {
		text = strings.ToValidUTF8(text[:shownArguments], "") + "\n…"
	}
	return text
}

// decidedCall is the call that the turn's message decided on; nil if it decided nothing.
func (r *turn) decidedCall(ctx context.Context) (*agents.DecidedCall, error) {
	d := r.env.Decided
	if d == nil {
		return nil, nil
	}
	a, err := r.g.store.Approval(ctx, d.Code)
	if err != nil {
		return nil, fmt.Errorf("decided call: %w", err)
	}
	return &agents.DecidedCall{
		HeldCall: agents.HeldCall{Tool: a.Tool, Arguments: json.RawMessage(a.Arguments), Key: a.Key, Reasoning: a.Reasoning},
		Resolve: func(ctx context.Context, call func(context.Context) agents.ToolResult) agents.ToolResult {
			if d.Denied {
				return failedCall(d.By + " denied this call; it was not run")
			}
			return r.g.once(ctx, d.Code, call)
		},
	}, nil
}

func failedCall(why string) agents.ToolResult {
	return agents.ToolResult{Text: "Error: " + why, IsError: true}
}

// once makes an approved call, unless it was begun before: then it returns what came of
// it, as far as anybody knows. It is begun at most once, whatever dies and runs again.
func (g *Gateway) once(ctx context.Context, code string, call func(context.Context) agents.ToolResult) agents.ToolResult {
	a, first, err := g.store.BeginCall(ctx, code)
	for errors.Is(err, store.ErrUnavailable) && clock.Sleep(ctx, g.clock, beginPause) == nil {
		a, first, err = g.store.BeginCall(ctx, code)
	}
	switch {
	case err != nil:
		g.log.ErrorContext(ctx, "an approved call could not be begun", "code", code, "error", err)
		return failedCall("the call could not be begun; it was not run")
	case first:
	case a.State == models.ApprovalDone:
		var before agents.ToolResult
		if json.Unmarshal(a.Result, &before) == nil {
			return before
		}
		return failedCall("the call was made, but its result cannot be read")
	default:
		return failedCall("the call was begun before and interrupted; nobody knows whether it took effect, and it is not run again")
	}
	result := call(ctx)
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.cfg.Lease)
	defer cancel()
	if err := g.store.EndCall(late, code, encodeResult(result)); err != nil {
		g.log.ErrorContext(ctx, "the result of an approved call could not be stored", "code", code, "error", err)
	}
	return result
}

// encodeResult writes a result in a form that can be stored.
func encodeResult(r agents.ToolResult) []byte {
	r.Text = strings.ToValidUTF8(r.Text[:min(len(r.Text), models.MaxFullResult)], "\uFFFD")
	encoded, err := json.Marshal(r)
	if err != nil || len(encoded) > models.MaxContent { // its pictures are too much
		r.Images = nil
		r.Text = r.Text[:min(len(r.Text), models.MaxContent/8)]
		if encoded, err = json.Marshal(r); err != nil {
			return []byte("{}")
		}
	}
	return encoded
}

// keepResult stores a result of the turn that is too large for the model.
func (r *turn) keepResult(ctx context.Context, tool, whole string) (string, error) {
	full := &models.FullResult{
		ID: "r" + strings.ToLower(rand.Text()[:9]), InboundID: r.head.ID, Tool: clip(tool), Size: len(whole), Text: whole, CreatedAt: r.g.now(),
	}
	if err := r.g.store.PutResult(ctx, r.t.Claim, full); err != nil {
		return "", err
	}
	return full.ID, nil
}
