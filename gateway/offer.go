package gateway

import (
	"context"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/window"
)

// offer is what of its tools an agent may use in a turn.
type offer struct {
	tools  agents.Toolset // nil: none
	count  int
	tokens int      // of what describes them to the model
	left   []string // names of those for which there is no room
}

// given is a list of tools that is known.
type given []agents.Tool

// Tools returns the list.
func (g given) Tools(context.Context) ([]agents.Tool, error) { return g, nil }

// offer lists an agent's tools and leaves out those for which a slot's context has no
// room. A list that cannot be had now is left to the agent, whose failure that is.
func (g *Gateway) offer(ctx context.Context, agent *Agent, slot *models.ContextSlot) offer {
	if agent.Tools == nil {
		return offer{}
	}
	all, err := agent.Tools.Tools(ctx)
	if err != nil {
		return offer{tools: agent.Tools}
	}
	sizes := make([]int, len(all))
	for i, tool := range all {
		spec := tool.Spec()
		sizes[i] = tokens.Tool(spec.Name, spec.Description, spec.Parameters, nil)
	}
	var budget *models.Budget
	if slot != nil {
		budget = slot.Budget
	}
	fits, total := window.FitTools(sizes, budget, agent.ContextWindow)
	out, list := offer{tokens: total}, given{}
	for i, tool := range all {
		if fits[i] {
			list = append(list, tool)
		} else {
			out.left = append(out.left, tool.Spec().Name)
		}
	}
	out.tools, out.count = list, len(list)
	return out
}
