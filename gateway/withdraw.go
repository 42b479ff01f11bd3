package gateway

import (
	"context"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Withdraw cancels one message that waits or runs, on whichever replica; one that
// has its outcome stays as it is.
func (g *Gateway) Withdraw(ctx context.Context, inboundID, why string) error {
	in, err := g.store.Inbound(ctx, inboundID)
	if err != nil {
		return err
	}
	return g.finishIfPending(ctx, in, store.Outcome{State: models.InboundCancelled, Code: models.CodeCancelled, Error: why})
}
