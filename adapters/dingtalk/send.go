package dingtalk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/models"
)

// expiryMargin is how long before its end a session webhook is no longer used.
const expiryMargin = time.Minute

// Paths of the OpenAPI.
const (
	pathGroupSend  = "/v1.0/robot/groupMessages/send"
	pathDirectSend = "/v1.0/robot/oToMessages/batchSend"
)

// filtered is said where the content filter refused an answer. The platform does
// not tell which language the chat speaks.
const filtered = "内容未通过钉钉安全检查，未能发送。\n\nDingTalk's content filter refused this answer."

// Send sends a piece through the session webhook while that is valid, else through
// the OpenAPI. The platform cannot recognise a repeated send.
func (a *Adapter) Send(ctx context.Context, d *models.Delivery) (adapters.Sent, error) {
	sent, err := a.send(ctx, d)
	if err != nil {
		return adapters.Sent{}, sendError(err)
	}
	return sent, nil
}

func (a *Adapter) send(ctx context.Context, d *models.Delivery) (adapters.Sent, error) {
	to, err := a.destination(d)
	if err != nil {
		return adapters.Sent{}, err
	}
	text, files, err := a.attach(ctx, d)
	if err != nil {
		return adapters.Sent{}, err
	}
	id, unsent, err := a.sendFiles(ctx, d, to, files)
	for _, f := range unsent {
		text = paragraph(text, notSent(f.name))
	}
	switch {
	case err != nil:
		return adapters.Sent{}, err
	case strings.TrimSpace(text) == "" && id == "":
		return adapters.Sent{}, refused("there is nothing to send")
	case strings.TrimSpace(text) == "":
		return adapters.Sent{PlatformMessageID: id}, nil
	}
	id, err = a.sendText(ctx, to, d.ID, text)
	if classOf(err) == classContent && d.Kind == models.DeliveryAnswer {
		// Best effort: the refusal is what is reported.
		_, _ = a.sendText(ctx, to, d.ID, filtered)
	}
	return adapters.Sent{PlatformMessageID: id}, err
}

// destination is where a delivery goes.
type destination struct {
	webhook        string // empty: none that is still valid
	conversationID string // of a group
	staffID        string // of a person: of the direct chat, or to mention
	group          bool
	robotCode      string
	// why says what is missing where there is no webhook.
	why string
}

func (a *Adapter) destination(d *models.Delivery) (destination, error) {
	r, err := parseRef(d.Target.Ref)
	if err != nil {
		return destination{}, refused("%w", err)
	}
	to := destination{
		conversationID: r.ConversationID,
		staffID:        r.SenderStaffID,
		group:          r.ConversationType == typeGroup,
		robotCode:      r.RobotCode,
	}
	if r.ConversationID == "" { // a push: nobody wrote before
		to.conversationID = d.Target.ChatID
		to.group = d.Target.ChatID != "" && !d.Target.Direct
	}
	if to.staffID == "" && !strings.HasPrefix(d.Target.UserID, "$:") {
		to.staffID = d.Target.UserID
	}
	if to.robotCode == "" {
		to.robotCode = a.cfg.RobotCode
	}
	to.webhook, to.why = a.webhookOf(r)
	return to, nil
}

// webhookOf returns the session webhook if it may be used, else why not.
func (a *Adapter) webhookOf(r ref) (webhook, why string) {
	if len(r.Webhook) == 0 {
		return "", "there is no session webhook"
	}
	if !a.clock.Now().Before(r.expires().Add(-expiryMargin)) {
		return "", "the session webhook has expired"
	}
	webhook, err := a.seal.open(r.Webhook, r.ConversationID)
	if err != nil {
		return "", err.Error()
	}
	if !a.ours(webhook) {
		return "", "the session webhook is not on the host of baseUrl or oapiBaseUrl"
	}
	return webhook, ""
}

// ours reports whether an address has scheme, host and port of one of the
// configured ones. A session webhook comes from outside: it could name any host.
func (a *Adapter) ours(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.Opaque != "" {
		return false
	}
	return slices.ContainsFunc([]string{a.cfg.BaseURL, a.cfg.OAPIBaseURL}, func(base string) bool {
		b, err := url.Parse(base)
		return err == nil && origin(b) == origin(u)
	})
}

func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

func (a *Adapter) sendText(ctx context.Context, to destination, deliveryID, text string) (string, error) {
	if to.webhook == "" {
		id, err := a.sendAPI(ctx, to, text)
		return orMade(id, deliveryID), err
	}
	err := a.sendWebhook(ctx, to, text)
	switch {
	case err == nil:
		return "webhook-" + deliveryID, nil // the platform names none
	case !fallsBack(err):
		return "", err
	}
	a.log.InfoContext(ctx, "session webhook refused, using the OpenAPI", "delivery", deliveryID, "error", err)
	to.why = fmt.Sprintf("the session webhook refused: %v", err)
	id, err := a.sendAPI(ctx, to, text)
	return orMade(id, deliveryID), err
}

// fallsBack reports whether a failure of a session webhook is definite and about
// the webhook, so that the OpenAPI may do better. Limits are not: the same message
// would only break the next one.
func fallsBack(err error) bool {
	e, ok := errors.AsType[*apiError](err)
	if !ok {
		return false
	}
	switch e.class {
	case classRate, classBusy, classContent, classSize, classUnclear:
		return false
	}
	return true
}

func (a *Adapter) sendWebhook(ctx context.Context, to destination, text string) error {
	const op = "session webhook"
	staffID := ""
	if _, ok := cutMention(text, to.staffID); ok && to.group {
		staffID = to.staffID
	}
	status, data, err := a.api.exchange(ctx, op, http.MethodPost, to.webhook, nil, webhookMessage(text, staffID))
	if err != nil {
		return err
	}
	return refusal(op, status, data, true)
}

func (a *Adapter) sendAPI(ctx context.Context, to destination, text string) (string, error) {
	if to.group {
		text = withoutMention(text, to.staffID) // it would show as a bare id
	}
	return a.sendRobot(ctx, to, keyMarkdown, msgParam(text))
}

// sendRobot sends a message of any kind over the OpenAPI and returns its id.
func (a *Adapter) sendRobot(ctx context.Context, to destination, key, param string) (string, error) {
	m := robotMessage{RobotCode: to.robotCode, MsgKey: key, MsgParam: param}
	op, path := "group send", pathGroupSend
	switch {
	case to.group:
		m.OpenConversationID = to.conversationID
	case to.staffID == "":
		why := to.why
		if why == "" {
			why = "there is no session webhook"
		}
		return "", refused("nothing can be sent to this person: %s, and the staff id, which the OpenAPI needs, is unknown (a person from outside of the organisation, or an app that is not published)", why)
	default:
		m.UserIDs = []string{to.staffID}
		op, path = "direct send", pathDirectSend
	}
	var out robotAnswer
	if err := a.api.call(ctx, op, http.MethodPost, path, m, &out); err != nil {
		return "", err
	}
	switch {
	case len(out.Invalid) > 0:
		return "", &adapters.SendError{Kind: adapters.TargetGone, Code: "invalidStaffIdList", Err: fmt.Errorf("%s: the platform does not know this person", op)}
	case len(out.FlowControlled) > 0:
		return "", &adapters.SendError{Kind: adapters.RateLimited, Code: "flowControlledStaffIdList", RetryAfter: waitWebhook, Err: fmt.Errorf("%s: the person gets too many messages", op)}
	}
	return out.ProcessQueryKey, nil
}
