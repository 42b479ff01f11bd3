package httpapi

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Queues lists what came in and what goes out.
type Queues interface {
	ListInbound(ctx context.Context, q store.InboundQuery) (items []*models.Inbound, nextCursor string, err error)
	ListDeliveries(ctx context.Context, q store.DeliveryQuery) (items []*models.Delivery, nextCursor string, err error)
}

func (s *Server) listInbound(c *gin.Context) {
	v, n, err := stateQuery(c)
	state := models.InboundState(v["state"])
	if err == nil && state != "" && !state.Valid() {
		err = invalid("state must be received, running, done, observed, superseded, cancelled, ignored, failed or dead")
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	items, next, err := s.deps.Queues.ListInbound(c.Request.Context(), store.InboundQuery{State: state, Limit: n, Cursor: v["cursor"]})
	if err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, pageOf(items, next))
}

func (s *Server) listDeliveries(c *gin.Context) {
	v, n, err := stateQuery(c)
	state := models.DeliveryState(v["state"])
	if err == nil && state != "" && !state.Valid() {
		err = invalid("state must be pending, sending, delivered, failed or dead")
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	items, next, err := s.deps.Queues.ListDeliveries(c.Request.Context(), store.DeliveryQuery{State: state, Limit: n, Cursor: v["cursor"]})
	if err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, pageOf(items, next))
}

func stateQuery(c *gin.Context) (values map[string]string, n int, err error) {
	if n, err = limit(c); err != nil {
		return nil, 0, err
	}
	values, err = queries(c, "state", "cursor")
	return values, n, err
}

func (s *Server) retryInbound(c *gin.Context) { retry(s, c, s.deps.QueueControl.Retry) }

func (s *Server) retryDelivery(c *gin.Context) { retry(s, c, s.deps.QueueControl.RetryDelivery) }

// retry repeats what the path names and answers with it as it is now.
func retry[T any](s *Server, c *gin.Context, again func(ctx context.Context, id string) (*T, error)) {
	id, err := idOf(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	item, err := again(c.Request.Context(), id)
	if err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, item)
}
