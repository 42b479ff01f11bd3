package chatctx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Sentinels of the agent layer.
var (
	ErrUnknownAgent = errors.New("unknown agent")
	ErrToolExists   = errors.New("tool exists")
	ErrInvalid      = errors.New("invalid")
)

// Tool is something an agent may call.
type Tool struct {
	Name        string
	Description string
	// Parameters is a JSON Schema object.
	Parameters json.RawMessage
	Call       func(ctx context.Context, args json.RawMessage) (string, error)
}

// AgentContext is the agent layer: who works, and with what. Tools are reached
// through the methods once several goroutines share it.
type AgentContext struct {
	AgentID      string
	Name         string
	Tools        []Tool
	Skills       []string
	SystemPrompt string
	// CustomData is the embedding program's own, as JSON values.
	CustomData map[string]json.RawMessage

	mu sync.RWMutex
}

// RegisterTool adds a tool. A blank name is an [ErrInvalid], a name in use an
// [ErrToolExists].
func (a *AgentContext) RegisterTool(tool Tool) error {
	if strings.TrimSpace(tool.Name) == "" {
		return fmt.Errorf("register tool: %w: blank name", ErrInvalid)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.index(tool.Name) >= 0 {
		return fmt.Errorf("register tool: %w: %q", ErrToolExists, tool.Name)
	}
	a.Tools = append(a.Tools, tool)
	return nil
}

// GetTool returns the tool with the name.
func (a *AgentContext) GetTool(name string) (Tool, bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if i := a.index(name); i >= 0 {
		return a.Tools[i], true
	}
	return Tool{}, false
}

// GetAllTools returns all tools in the order in which they were added.
func (a *AgentContext) GetAllTools() []Tool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return slices.Clone(a.Tools)
}

func (a *AgentContext) index(name string) int {
	return slices.IndexFunc(a.Tools, func(t Tool) bool { return t.Name == name })
}

// Clone returns a copy that shares nothing a change could reach.
func (a *AgentContext) Clone() *AgentContext {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return &AgentContext{
		AgentID:      a.AgentID,
		Name:         a.Name,
		Tools:        slices.Clone(a.Tools),
		Skills:       slices.Clone(a.Skills),
		SystemPrompt: a.SystemPrompt,
		CustomData:   maps.Clone(a.CustomData),
	}
}
