package toolloop

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/internal/provider"
)

// toolbox is the tools of a turn. A name that occurs twice is the first one's.
type toolbox struct {
	specs   []agents.ToolSpec
	byName  map[string]agents.Tool
	schemas map[string]json.RawMessage
	held    map[string]bool // a person must approve each call
}

func load(ctx context.Context, set agents.Toolset) (toolbox, error) {
	box := toolbox{byName: map[string]agents.Tool{}, schemas: map[string]json.RawMessage{}, held: map[string]bool{}}
	if set == nil {
		return box, nil
	}
	tools, err := set.Tools(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return box, provider.ContextError(ctx)
		}
		return box, &agents.Error{Kind: agents.Transient, Err: fmt.Errorf("toolloop: list tools: %w", err)}
	}
	for _, tool := range tools {
		spec := tool.Spec()
		if _, taken := box.byName[spec.Name]; taken {
			continue
		}
		box.byName[spec.Name], box.schemas[spec.Name] = tool, spec.Parameters
		box.held[spec.Name] = spec.NeedsApproval
		box.specs = append(box.specs, spec)
	}
	return box, nil
}

// names lists the tools for a model that asked for an unknown one.
func (b toolbox) names() string {
	names := make([]string, 0, len(b.byName))
	for name := range b.byName {
		names = append(names, name)
	}
	sort.Strings(names)
	return strings.Join(names, ", ")
}
