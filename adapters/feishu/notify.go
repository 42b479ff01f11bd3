package feishu

import (
	"context"
	"encoding/json"
	"time"

	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher/callback"

	"github.com/chatkeep/chatkeep/adapters"
)

// notify passes on what happened besides messages.
func (a *Adapter) notify(ctx context.Context, sink adapters.Sink, e *envelope) error {
	event, err := a.decodeNotice(e)
	if err != nil || event == nil {
		return err
	}
	event.ID = e.Header.EventID
	if event.At.IsZero() {
		event.At = e.Header.CreateTime.Time
	}
	if event.At.IsZero() {
		event.At = a.clock.Now().UTC()
	}
	return sink.Notify(ctx, event)
}

// decodeNotice returns nil for events that concern nobody.
func (a *Adapter) decodeNotice(e *envelope) (*adapters.Event, error) {
	switch e.Header.EventType {
	case eventRecalled:
		r, err := decodeEvent[recalledEvent](e)
		if err != nil || r.MessageID == "" {
			return nil, orNoEvent(err)
		}
		return &adapters.Event{
			Kind: adapters.Recalled, MessageID: r.MessageID, Chat: adapters.Chat{ID: r.ChatID}, At: r.RecallTime.Time,
		}, nil
	case eventReacted, eventUnreacted:
		r, err := decodeEvent[reactionEvent](e)
		if err != nil || r.MessageID == "" {
			return nil, orNoEvent(err)
		}
		if r.OperatorType == "app" { // the working sign comes back
			return nil, nil
		}
		kind := adapters.Reacted
		if e.Header.EventType == eventUnreacted {
			kind = adapters.Unreacted
		}
		return &adapters.Event{
			Kind: kind, MessageID: r.MessageID, Value: r.ReactionType.EmojiType, At: r.ActionTime.Time, Sender: sender(r.UserID),
		}, nil
	case eventBotAdded, eventBotRemoved, eventDisbanded, eventEntered, eventChatUpdated:
		c, err := decodeEvent[chatEvent](e)
		if err != nil || c.ChatID == "" {
			return nil, orNoEvent(err)
		}
		a.chats.forget(c.ChatID)
		return chatNotice(e.Header.EventType, c), nil
	}
	return nil, nil
}

func orNoEvent(err error) error {
	if err != nil {
		return err
	}
	return errNoEvent
}

func chatNotice(eventType string, c chatEvent) *adapters.Event {
	event := &adapters.Event{
		Chat:   adapters.Chat{ID: c.ChatID, Type: adapters.Group, Name: c.Name},
		Sender: sender(c.OperatorID),
	}
	switch eventType {
	case eventBotAdded:
		event.Kind = adapters.BotAdded
	case eventBotRemoved:
		event.Kind = adapters.BotRemoved
	case eventDisbanded:
		event.Kind = adapters.ChatGone
	case eventEntered:
		event.Kind = adapters.ChatEntered
		event.Chat.Type = adapters.Direct
	default:
		return nil
	}
	return event
}

func sender(u userID) adapters.Sender { return adapters.Sender{ID: u.id(), AltIDs: u.others()} }

// stopAction marks the button that ends a running answer.
const stopAction = "stop"

// buttonValue is what the buttons of our cards carry.
type buttonValue struct {
	Action    string `json:"chatkeep"`
	InboundID string `json:"inbound,omitempty"`
}

// cardAction answers a pressed button. The platform waits 3 s and shows the toast;
// what the button asks for happens later.
func (a *Adapter) cardAction(ctx context.Context, sink adapters.Sink, e *envelope) (*callback.CardActionTriggerResponse, error) {
	c, err := decodeEvent[cardEvent](e)
	if err != nil {
		return &callback.CardActionTriggerResponse{}, err
	}
	event := &adapters.Event{
		ID:        e.Header.EventID,
		Kind:      adapters.ActionButton,
		Chat:      adapters.Chat{ID: c.Context.OpenChatID},
		Sender:    sender(c.Operator),
		MessageID: c.Context.OpenMessageID,
		At:        e.Header.CreateTime.Time,
	}
	if event.ID == "" {
		event.ID = c.Token
	}
	if event.At.IsZero() {
		event.At = a.clock.Now().UTC()
	}
	value := buttonValueOf(c.Action.Value)
	event.InboundID = value.InboundID
	done := toast("info", "Received", "已收到")
	if value.Action == stopAction {
		event.Kind = adapters.ActionStop
		done = toast("info", "Stopping…", "正在停止…")
	} else if event.Value = value.Action; event.Value == "" {
		event.Value = string(c.Action.Value)
	}
	if err := sink.Notify(ctx, event); err != nil {
		a.log.ErrorContext(ctx, "a card action is not stored", "event", event.ID, "error", err)
		return toast("error", "That did not work, please try again", "操作失败，请重试"), nil
	}
	return done, nil
}

// buttonValueOf reads a button's value, an object or an object as a string.
func buttonValueOf(raw json.RawMessage) buttonValue {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	return fields[buttonValue](raw)
}

func toast(kind, english, chinese string) *callback.CardActionTriggerResponse {
	return &callback.CardActionTriggerResponse{Toast: &callback.Toast{
		Type: kind, Content: english, I18nContent: map[string]string{"en_us": english, "zh_cn": chinese},
	}}
}

// quotaExhausted tells the gateway once per pause that the tenant's quota is used up.
func (a *Adapter) quotaExhausted() {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	sink, leave, err := a.intake.enter(ctx)
	if err != nil {
		return
	}
	defer leave()
	now := a.clock.Now().UTC()
	event := &adapters.Event{
		ID:   "quota-" + now.Format(time.RFC3339),
		Kind: adapters.QuotaNotice, Value: "99991403: the tenant's monthly API quota is used up", At: now,
	}
	if err := sink.Notify(ctx, event); err != nil {
		a.log.Error("the notice of a used-up quota is not stored", "error", err)
	}
}
