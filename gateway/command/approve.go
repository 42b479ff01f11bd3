package command

import (
	"cmp"
	"errors"
	"strings"

	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// The commands that decide on a call of a tool.
const (
	approveName = "approve"
	denyName    = "deny"
)

// Decided is a call that the command decided on: its message becomes a turn.
type Decided struct {
	Call   *models.Approval
	Denied bool
	// By is who decided, for people.
	By string
}

// noes are the words that make a denial of /approve.
var noes = map[string]bool{"no": true, "n": true, "deny": true, "否": true, "不": true, "拒绝": true}

// DecidedCode returns the code of the call that a command is about; "" if it is about none.
func DecidedCode(in Invocation) string {
	if in.Name != approveName && in.Name != denyName {
		return ""
	}
	code, _, ok := decisionOf(in.Args)
	if !ok {
		return ""
	}
	return code
}

// decisionOf reads CODE [no].
func decisionOf(args string) (code string, denied, ok bool) {
	parts := words(args)
	switch {
	case len(parts) == 2 && noes[strings.ToLower(parts[1])]:
		denied = true
	case len(parts) != 1:
		return "", false, false
	}
	return strings.ToUpper(strings.Trim(parts[0], "`")), denied, true
}

// approve is /approve CODE [no].
func approve(c *Call) (string, error) {
	code, denied, ok := decisionOf(c.Args)
	if !ok {
		return text.Say(c.Lang, text.ApprovalUsage), nil
	}
	return c.decide(code, denied)
}

// deny is /deny CODE.
func deny(c *Call) (string, error) {
	code, _, ok := decisionOf(c.Args)
	if !ok {
		return text.Say(c.Lang, text.ApprovalUsage), nil
	}
	return c.decide(code, true)
}

func (c *Call) decide(code string, denied bool) (string, error) {
	if access.IsCode(code) { // somebody asks to be let in
		return c.decideAccess(code, denied)
	}
	call, err := c.Tx.Approval(code)
	if errors.Is(err, store.ErrNotFound) || err == nil && c.Decides != code {
		return text.Say(c.Lang, text.ApprovalMissing, code), nil
	}
	if err != nil {
		return "", err
	}
	switch call.At(c.Now) {
	case models.ApprovalPending:
	case models.ApprovalDenied:
		return text.Say(c.Lang, text.ApprovalWasDenied, call.DecidedBy), nil
	case models.ApprovalExpired:
		return text.Say(c.Lang, text.ApprovalExpired), nil
	default:
		return text.Say(c.Lang, text.ApprovalWasApproved, call.DecidedBy), nil
	}
	by := cmp.Or(c.Operator, c.SenderName, c.SenderID)
	d := store.Decision{State: models.ApprovalApproved, By: strings.ToValidUTF8(by[:min(len(by), models.MaxForeignID)], ""), InboundID: c.InboundID, Now: c.Now}
	if denied {
		d.State = models.ApprovalDenied
	}
	if err := c.Tx.Decide(code, d); err != nil {
		return "", err
	}
	c.Decided = &Decided{Call: call, Denied: denied, By: by}
	return "", nil
}
