package dingtalk

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/chatkeep/chatkeep/adapters"
)

// actionStop is the id that a card template gives its Stop button.
const actionStop = "stop"

// cardEvent returns the click in a card callback, nil if there is none.
func cardEvent(data []byte, deliveryID string) *adapters.Event {
	var c struct {
		OutTrackID str             `json:"outTrackId"`
		UserID     str             `json:"userId"`
		SpaceID    str             `json:"spaceId"`
		Content    json.RawMessage `json:"content"`
	}
	if json.Unmarshal(data, &c) != nil || c.OutTrackID == "" {
		return nil
	}
	var content struct {
		Private struct {
			ActionIDs list[str]                  `json:"actionIds"`
			Params    map[string]json.RawMessage `json:"params"`
		} `json:"cardPrivateData"`
	}
	_ = json.Unmarshal(unwrap(c.Content), &content) // a click without data is a click
	e := &adapters.Event{
		ID:        deliveryID,
		Kind:      adapters.ActionButton,
		Chat:      adapters.Chat{ID: string(c.SpaceID)},
		Sender:    adapters.Sender{ID: string(c.UserID)},
		MessageID: string(c.OutTrackID),
		InboundID: inboundOf(string(c.OutTrackID)),
	}
	if slices.Contains(content.Private.ActionIDs, actionStop) {
		e.Kind = adapters.ActionStop
		return e
	}
	var value str
	_ = value.UnmarshalJSON(content.Private.Params["value"])
	e.Value = string(value)
	if e.Value == "" && len(content.Private.ActionIDs) > 0 {
		e.Value = string(content.Private.ActionIDs[0])
	}
	return e
}

// inboundOf returns the inbound id that [outTrackID] put into a card's id.
func inboundOf(outTrackID string) string {
	inbound, _, ok := cutLast(outTrackID, ".")
	if !ok {
		return ""
	}
	return inbound
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
