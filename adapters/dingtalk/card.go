package dingtalk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/markdown"
	"github.com/chatkeep/chatkeep/models"
)

const (
	pathCardCreate = "/v1.0/card/instances/createAndDeliver"
	pathCardStream = "/v1.0/card/streaming"

	// updatesPerSecond leaves the final updates room below the app's 20 calls a second.
	updatesPerSecond = 15
	// pauseAfterLimit is how long no card is updated after a call came too fast.
	pauseAfterLimit = 2 * time.Second
	// maxCardContent is what a card can show, in characters; longer ones go blank
	// although the call succeeds.
	maxCardContent = 3000
	// beginning is what a card shows before the first words: an empty one may stay blank.
	beginning = "…"
)

// cardState is what is stored with a preview.
type cardState struct {
	OutTrackID string `json:"outTrackId"`
}

// cards paces the updates of all cards of the app.
type cards struct {
	clock  clock.Clock
	pace   time.Duration
	bucket *rate.Limiter
	shown  *recent[cardPace]
	pause  *recent[time.Time]
	// waits are between the attempts to finish a card.
	waits []time.Duration
}

type cardPace struct {
	next time.Time
	text string
}

func newCards(c clock.Clock, pace time.Duration) *cards {
	return &cards{
		clock: c, pace: pace, bucket: rate.NewLimiter(updatesPerSecond, updatesPerSecond),
		shown: newRecent[cardPace](remembered), pause: newRecent[time.Time](1), waits: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second},
	}
}

// admit reports whether a card may be updated to text now.
func (c *cards) admit(id, text string) bool {
	now := c.clock.Now()
	before := c.shown.get(id)
	if now.Before(before.next) || before.text == text || now.Before(c.pause.get("")) || !c.bucket.AllowN(now, 1) {
		return false
	}
	c.shown.change(id, func(cardPace) cardPace { return cardPace{now.Add(c.pace), text} })
	return true
}

func (c *cards) tooFast() {
	until := c.clock.Now().Add(pauseAfterLimit)
	c.pause.change("", func(time.Time) time.Time { return until })
}

// outTrackID names the card of a preview: the same on every attempt, and the
// clicks on it tell the inbound message.
func outTrackID(p *models.Preview) string {
	sum := sha256.Sum256([]byte(p.Account + "\x00" + p.ID))
	return p.InboundID + "." + hex.EncodeToString(sum[:8])
}

// OpenPreview only names the card: the platform makes and shows it in one call.
func (a *Adapter) OpenPreview(_ context.Context, p *models.Preview) error {
	if !a.cfg.streams() {
		return refused("AI cards are not configured")
	}
	to, err := a.destination(&models.Delivery{Target: p.Target})
	if err != nil {
		return err
	}
	if !to.group && to.staffID == "" {
		return refused("a card in a direct chat needs the staff id of the person, which is unknown")
	}
	p.State, err = json.Marshal(cardState{outTrackID(p)})
	return err
}

type cardCreate struct {
	CardTemplateID string   `json:"cardTemplateId"`
	OutTrackID     string   `json:"outTrackId"`
	CallbackType   string   `json:"callbackType"`
	CardData       cardData `json:"cardData"`
	UserIDType     int      `json:"userIdType"`
	OpenSpaceID    string   `json:"openSpaceId"`

	GroupSpace   *cardSpace   `json:"imGroupOpenSpaceModel,omitempty"`
	GroupDeliver *cardDeliver `json:"imGroupOpenDeliverModel,omitempty"`
	RobotSpace   *cardSpace   `json:"imRobotOpenSpaceModel,omitempty"`
	RobotDeliver *cardDeliver `json:"imRobotOpenDeliverModel,omitempty"`
}

type cardData struct {
	Params map[string]string `json:"cardParamMap"`
}

type cardSpace struct {
	SupportForward bool `json:"supportForward"`
}

type cardDeliver struct {
	SpaceType string `json:"spaceType,omitempty"`
	RobotCode string `json:"robotCode"`
}

// ShowPreview makes the card appear. The platform refuses a second card of the
// same id, which is the sign that the first call was heard.
func (a *Adapter) ShowPreview(ctx context.Context, p *models.Preview) error {
	state, to, err := a.preview(p)
	if err != nil {
		return sendError(err)
	}
	in := cardCreate{
		CardTemplateID: a.cfg.CardTemplateID,
		OutTrackID:     state.OutTrackID,
		CallbackType:   "STREAM",
		CardData:       cardData{map[string]string{a.cfg.CardContentKey: beginning}},
		UserIDType:     1,
	}
	if to.group {
		in.OpenSpaceID = "dtv1.card//IM_GROUP." + to.conversationID
		in.GroupSpace, in.GroupDeliver = &cardSpace{true}, &cardDeliver{RobotCode: to.robotCode}
	} else {
		in.OpenSpaceID = "dtv1.card//IM_ROBOT." + to.staffID
		in.RobotSpace, in.RobotDeliver = &cardSpace{true}, &cardDeliver{SpaceType: "IM_ROBOT", RobotCode: to.robotCode}
	}
	var out struct {
		Result struct {
			DeliverResults []struct {
				Success  boolean `json:"success"`
				ErrorMsg str     `json:"errorMsg"`
			} `json:"deliverResults"`
		} `json:"result"`
	}
	err = a.api.call(ctx, "card create", http.MethodPost, pathCardCreate, in, &out)
	if exists(err) {
		return nil
	}
	if err != nil {
		return sendError(err)
	}
	for _, r := range out.Result.DeliverResults {
		if !r.Success {
			return refused("card create: not delivered: %s", clip(string(r.ErrorMsg), 200))
		}
	}
	return nil
}

// exists reports whether a card could not be made because it is there already.
func exists(err error) bool {
	code := strings.ToLower(codeOf(err))
	return strings.Contains(code, "outtrackid") && (strings.Contains(code, "exist") || strings.Contains(code, "duplicate") || strings.Contains(code, "repeat")) &&
		!strings.Contains(code, "not")
}

func (a *Adapter) preview(p *models.Preview) (cardState, destination, error) {
	var s cardState
	if err := json.Unmarshal(p.State, &s); err != nil || s.OutTrackID == "" {
		return s, destination{}, &adapters.SendError{Kind: adapters.Gone, Err: fmt.Errorf("the preview has no card")}
	}
	to, err := a.destination(&models.Delivery{Target: p.Target})
	return s, to, err
}

type cardStream struct {
	OutTrackID string `json:"outTrackId"`
	GUID       string `json:"guid"`
	Key        string `json:"key"`
	Content    string `json:"content"`
	IsFull     bool   `json:"isFull"`
	IsFinalize bool   `json:"isFinalize"`
	IsError    bool   `json:"isError"`
}

func (a *Adapter) stream(ctx context.Context, s cardStream) error {
	const op = "card update"
	s.Key, s.IsFull = a.cfg.CardContentKey, true
	out := struct {
		Success boolean `json:"success"`
	}{true}
	err := a.api.call(ctx, op, http.MethodPut, pathCardStream, s, &out)
	if err == nil && !out.Success {
		return &apiError{op: op, status: http.StatusOK, msg: "not successful"}
	}
	return err
}

// UpdatePreview shows more of the text unless it is too early: a second between
// updates of a card, a share of the app's calls for all of them. Text beyond what
// a card holds is not shown.
func (a *Adapter) UpdatePreview(ctx context.Context, p *models.Preview, text string) error {
	s, _, err := a.preview(p)
	if err != nil {
		return sendError(err)
	}
	if strings.TrimSpace(text) == "" || !a.cards.admit(s.OutTrackID, text) {
		return nil
	}
	content, _ := fitCard(text)
	err = a.stream(ctx, cardStream{OutTrackID: s.OutTrackID, GUID: uuid.NewString(), Content: content})
	switch classOf(err) {
	case classRate, classBusy:
		a.cards.tooFast()
		return nil
	case classQuota:
		return nil
	}
	return sendError(err)
}

// fitCard returns text as a card shows it, cut to what fits; whole tells whether
// all of it does.
func fitCard(text string) (content string, whole bool) {
	head, cut := text, false
	if most := 2 * utf8.UTFMax * maxCardContent; len(text) > most { // spare the work on what cannot be shown
		head, cut = strings.ToValidUTF8(text[:most], ""), true
	}
	content = cardShape(markdown.CloseFence(head))
	if !cut && utf8.RuneCountInString(content) <= maxCardContent {
		return content, true
	}
	pieces := markdown.Split(content, func(s string) bool { return utf8.RuneCountInString(s) <= maxCardContent-2 })
	return strings.TrimRight(pieces[0], "\n") + "\n…", false
}

// FinishPreview finishes the card with the delivery's text. Whatever becomes of
// the text, the card does not stay open: where it cannot hold the text, or the
// content is refused, it is closed and the error says Gone.
func (a *Adapter) FinishPreview(ctx context.Context, p *models.Preview, d *models.Delivery) (adapters.Sent, error) {
	s, to, err := a.preview(p)
	if err != nil {
		return adapters.Sent{}, sendError(err)
	}
	text := withoutMention(d.Text, to.staffID)
	if d.Kind == models.DeliveryPreview && strings.TrimSpace(text) == "" {
		text = a.cards.shown.get(s.OutTrackID).text
	}
	if strings.TrimSpace(text) == "" {
		text = beginning
	}
	content, whole := fitCard(text)
	update := cardStream{
		OutTrackID: s.OutTrackID, Content: content, IsFinalize: true,
		// The same on every attempt: a repeated update is known by it.
		GUID: uuid.NewSHA1(uuid.NameSpaceOID, []byte(s.OutTrackID+"\x00"+d.ID)).String(),
	}
	err = a.finish(ctx, update)
	switch kindOfFinish(err) {
	case "":
		if !whole {
			return adapters.Sent{}, gone(fmt.Errorf("the text is longer than a card can show (%d characters)", maxCardContent))
		}
		return adapters.Sent{PlatformMessageID: s.OutTrackID}, nil
	case adapters.Gone:
		if classOf(err) != classCard {
			update.IsError, update.Content, update.GUID = true, beginning, uuid.NewString()
			_ = a.finish(ctx, update) // best effort: the text goes out as a message
		}
		return adapters.Sent{}, gone(err)
	case adapters.Unknown:
		if classOf(err) == classUnclear { // the platform answers, but cannot do it
			return adapters.Sent{}, gone(err)
		}
		return adapters.Sent{}, &adapters.SendError{Kind: adapters.Retry, Err: err} // safe to repeat
	}
	return adapters.Sent{}, sendError(err)
}

// finish makes a final update, and again if it came too fast or nobody knows what
// became of it: the guid makes that safe.
func (a *Adapter) finish(ctx context.Context, update cardStream) error {
	for attempt := 0; ; attempt++ {
		err := a.stream(ctx, update)
		if err == nil || attempt == len(a.cards.waits) || kindOfFinish(err) == adapters.Gone {
			return err
		}
		a.cards.tooFast() // the others make room
		wait := a.cards.waits[attempt]
		if clock.Sleep(ctx, a.clock, wait/2+rand.N(wait)) != nil {
			return err
		}
	}
}

// kindOfFinish says what a failed final update means: anything definite closes the
// way through the card, but not the one through a message.
func kindOfFinish(err error) adapters.SendErrorKind {
	if err == nil {
		return ""
	}
	switch kind := adapters.SendErrorOf(sendError(err)).Kind; kind {
	case adapters.RateLimited, adapters.Retry, adapters.Unknown:
		return kind
	}
	return adapters.Gone
}

func gone(err error) error {
	return &adapters.SendError{Kind: adapters.Gone, Code: codeOf(err), Err: err}
}
