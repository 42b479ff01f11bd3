package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/builtin"
	"github.com/chatkeep/chatkeep/agents/mcp"
	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/dial"
	"github.com/chatkeep/chatkeep/store"
)

// toolbox is all tools that the configuration knows.
type toolbox struct {
	builtin *builtin.Set
	servers *mcp.Manager
	guard   *dial.Guard
}

// newToolbox starts nothing: a server starts with the first turn that may use it.
func newToolbox(cfg *config.Config, st store.Store, c clock.Clock, log *slog.Logger) (*toolbox, error) {
	zone, err := time.LoadLocation(cfg.Timezone)
	if err != nil {
		return nil, fmt.Errorf("timezone: %w", err)
	}
	var named []string
	servers := make([]mcp.Server, len(cfg.MCPServers))
	for i, s := range cfg.MCPServers {
		servers[i] = mcp.Server{Name: s.Name, Command: s.Command, URL: s.URL.Reveal()}
		if host := hostPort(s.URL.Reveal()); host != "" {
			named = append(named, host)
		}
	}
	policy, err := dial.ParsePolicy(cfg.Egress.AllowPrivate, named)
	if err != nil {
		return nil, err
	}
	guard := dial.New(policy)
	return &toolbox{
		builtin: builtin.New(zone, notebook{st, st, c}, c),
		servers: mcp.New(servers, guard.HTTPClient(0), c, log), // the call's own deadline bounds it
		guard:   guard,
	}, nil
}

// close ends the servers.
func (b *toolbox) close() {
	b.servers.Close()
	b.guard.CloseIdleConnections()
}

// toolset returns the tools that an agent names; nil for an agent without any.
func (b *toolbox) toolset(names []string) agents.Toolset {
	if len(names) == 0 {
		return nil
	}
	var own, servers []string
	for _, name := range names {
		if slices.Contains(config.BuiltinTools(), name) {
			own = append(own, name)
		} else {
			servers = append(servers, name)
		}
	}
	return joined{b.builtin.Toolset(own), b.servers.Toolset(servers)}
}

// joined is several sets of tools in one.
type joined []agents.Toolset

// Tools returns the tools of all sets.
func (j joined) Tools(ctx context.Context) ([]agents.Tool, error) {
	var out []agents.Tool
	for _, set := range j {
		tools, err := set.Tools(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, tools...)
	}
	return out, nil
}

// missingTools names the built-in tools that agents want and that do not work yet.
func missingTools(cfg *config.Config) []string {
	var out []string
	for i := range cfg.Agents {
		for _, name := range cfg.Agents[i].Tools {
			known := slices.Contains(config.BuiltinTools(), name)
			if known && !slices.Contains(builtin.Names(), name) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}
