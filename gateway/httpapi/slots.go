package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/slot"
	"github.com/chatkeep/chatkeep/internal/jsonkeys"
	"github.com/chatkeep/chatkeep/models"
)

// SlotControl reads and changes the context slots of a session.
type SlotControl interface {
	Slots(ctx context.Context, key string) ([]*models.ContextSlot, error)
	CreateSlot(ctx context.Context, key string, n slot.New) (*models.ContextSlot, error)
	PatchSlot(ctx context.Context, key, id string, change func(*models.ContextSlot)) (*models.ContextSlot, error)
	DeriveSlot(ctx context.Context, key, parent string, d slot.Derive) (*models.ContextSlot, error)
	SwitchSlot(ctx context.Context, key, id string) (*models.ContextSlot, error)
	DeleteSlot(ctx context.Context, key, id string, dryRun bool) (gateway.Change, error)
	MergeSlot(ctx context.Context, key, from, into string, strategy gateway.MergeStrategy) (gateway.Change, error)
}

// slotRoutes are those below a session.
func (s *Server) slotRoutes(one *gin.RouterGroup) {
	one.GET("/slots", s.listSlots)
	one.POST("/slots", s.createSlot)
	one.PATCH("/slots/:id", s.patchSlot)
	one.DELETE("/slots/:id", s.deleteSlot)
	one.POST("/slots/:id/switch", s.switchSlot)
	one.POST("/slots/:id/derive", s.deriveSlot)
	one.POST("/slots/:id/merge", s.mergeSlot)
}

// focusBody is the JSON of focused; null means none.
type focusBody struct {
	given bool
	value *models.Focus
}

// UnmarshalJSON is part of [json.Unmarshaler].
func (f *focusBody) UnmarshalJSON(raw []byte) error {
	f.given = true
	return strictly(raw, &f.value)
}

func (f *focusBody) check() error {
	if f.value == nil {
		return nil
	}
	return checkTexts(text{"focused.summaryOverride", f.value.SummaryOverride, models.MaxContent})
}

// budgetBody is the JSON of budget: its parts, "auto", {"auto": true}, or null for none.
type budgetBody struct {
	given bool
	value *models.Budget
}

// UnmarshalJSON is part of [json.Unmarshaler].
func (b *budgetBody) UnmarshalJSON(raw []byte) error {
	b.given = true
	if string(bytes.TrimSpace(raw)) == `"auto"` {
		b.value = &models.Budget{Auto: true}
		return nil
	}
	return strictly(raw, &b.value)
}

func strictly(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	return jsonkeys.Check(raw, v)
}

// newSlotBody is the body of POST /slots.
type newSlotBody struct {
	ID      string          `json:"id"`
	Mode    models.SlotMode `json:"mode"`
	Focused focusBody       `json:"focused"`
	Budget  budgetBody      `json:"budget"`
	Compact *bool           `json:"compact"`
}

// slotPatch is the body of PATCH /slots/{id}; what is absent stays as it is.
type slotPatch struct {
	Mode    *models.SlotMode `json:"mode"`
	Focused focusBody        `json:"focused"`
	Budget  budgetBody       `json:"budget"`
	Compact *bool            `json:"compact"`
}

// deriveBody is the body of POST /slots/{parent}/derive.
type deriveBody struct {
	ID       string                `json:"id"`
	Strategy models.DeriveStrategy `json:"strategy"`
	Focused  focusBody             `json:"focused"`
}

// mergeBody is the body of POST /slots/{id}/merge.
type mergeBody struct {
	Into     string                `json:"into"`
	Strategy gateway.MergeStrategy `json:"strategy"`
}

func (s *Server) listSlots(c *gin.Context) {
	slots, err := s.deps.Slots.Slots(c.Request.Context(), keyOf(c))
	if err != nil {
		s.fail(c, sessionProblem(err))
		return
	}
	c.JSON(http.StatusOK, pageOf(slots, ""))
}

func (s *Server) createSlot(c *gin.Context) {
	var body newSlotBody
	err := decodeBody(c, &body, true)
	if err == nil {
		err = body.Focused.check()
	}
	s.slot(c, http.StatusCreated, err, func(ctx context.Context) (*models.ContextSlot, error) {
		return s.deps.Slots.CreateSlot(ctx, keyOf(c), slot.New{
			ID: body.ID, Mode: body.Mode, Focused: body.Focused.value, Budget: body.Budget.value, Compact: body.Compact,
		})
	})
}

func (s *Server) patchSlot(c *gin.Context) {
	var patch slotPatch
	id, err := slotInPath(c)
	if err == nil {
		err = decodeBody(c, &patch, true)
	}
	if err == nil {
		err = patch.Focused.check()
	}
	s.slot(c, http.StatusOK, err, func(ctx context.Context) (*models.ContextSlot, error) {
		return s.deps.Slots.PatchSlot(ctx, keyOf(c), id, func(m *models.ContextSlot) {
			set(&m.Mode, patch.Mode)
			set(&m.Compact, patch.Compact)
			if patch.Focused.given {
				m.Focused = patch.Focused.value
			}
			if patch.Budget.given {
				m.Budget = patch.Budget.value
			}
		})
	})
}

func (s *Server) deriveSlot(c *gin.Context) {
	var body deriveBody
	parent, err := slotInPath(c)
	if err == nil {
		err = decodeBody(c, &body, true)
	}
	if err == nil {
		err = body.Focused.check()
	}
	s.slot(c, http.StatusCreated, err, func(ctx context.Context) (*models.ContextSlot, error) {
		return s.deps.Slots.DeriveSlot(ctx, keyOf(c), parent, slot.Derive{ID: body.ID, Strategy: body.Strategy, Focused: body.Focused.value})
	})
}

func (s *Server) switchSlot(c *gin.Context) {
	id, err := slotInPath(c)
	s.slot(c, http.StatusOK, err, func(ctx context.Context) (*models.ContextSlot, error) {
		return s.deps.Slots.SwitchSlot(ctx, keyOf(c), id)
	})
}

// slot runs an operation that comes to a slot, unless its request is wrong.
func (s *Server) slot(c *gin.Context, status int, wrong error, do func(ctx context.Context) (*models.ContextSlot, error)) {
	if wrong != nil {
		s.fail(c, wrong)
		return
	}
	one, err := do(c.Request.Context())
	if err != nil {
		s.fail(c, sessionProblem(err))
		return
	}
	c.JSON(status, one)
}

func (s *Server) deleteSlot(c *gin.Context) {
	id, err := slotInPath(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	s.change(c, func(ctx context.Context, key string, dryRun bool) (gateway.Change, error) {
		return s.deps.Slots.DeleteSlot(ctx, key, id, dryRun)
	})
}

func (s *Server) mergeSlot(c *gin.Context) {
	var body mergeBody
	id, err := slotInPath(c)
	if err == nil {
		err = decodeBody(c, &body, true)
	}
	if err == nil && !models.ValidName(body.Into) {
		err = invalid("into must name the slot that gets the messages")
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	change, err := s.deps.Slots.MergeSlot(c.Request.Context(), keyOf(c), id, body.Into, body.Strategy)
	if err != nil {
		s.fail(c, summaryProblem(sessionProblem(err)))
		return
	}
	c.JSON(http.StatusOK, change)
}

// slotInPath is the slot that the path names. What can be none is not found.
func slotInPath(c *gin.Context) (string, error) {
	id, err := idOf(c)
	if err != nil {
		return "", noSlot()
	}
	return id, nil
}
