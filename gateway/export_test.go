package gateway

import (
	"context"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents"
)

// Sender is what sends to an account.
func (g *Gateway) Sender(channel, account string) adapters.Adapter { return g.sender(channel, account) }

// Once makes an approved call.
func (g *Gateway) Once(ctx context.Context, code string, call func(context.Context) agents.ToolResult) agents.ToolResult {
	return g.once(ctx, code, call)
}
