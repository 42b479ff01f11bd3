package gateway

import "github.com/chatkeep/chatkeep/adapters"

// Sender is what sends to an account.
func (g *Gateway) Sender(channel, account string) adapters.Adapter { return g.sender(channel, account) }
