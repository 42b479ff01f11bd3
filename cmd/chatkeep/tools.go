package main

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/builtin"
	"github.com/chatkeep/chatkeep/agents/mcp"
	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/dial"
	"github.com/chatkeep/chatkeep/internal/tracing"
	"github.com/chatkeep/chatkeep/store"
)

// toolbox is all tools that the configuration knows.
type toolbox struct {
	builtin *builtin.Set
	chats   *turnChats
	servers *mcp.Manager
	guard   *dial.Guard
}

// newToolbox starts nothing: a server starts with the first turn that may use it.
func newToolbox(cfg *config.Config, st store.Store, c clock.Clock, log *slog.Logger) (*toolbox, error) {
	chats := &turnChats{log: log}
	zone, err := time.LoadLocation(cfg.Timezone)
	if err != nil {
		return nil, fmt.Errorf("timezone: %w", err)
	}
	var named []string
	servers := make([]mcp.Server, len(cfg.MCPServers))
	for i, s := range cfg.MCPServers {
		servers[i] = mcp.Server{
			Name: s.Name, Command: s.Command, Env: revealed(s.Env), URL: s.URL.Reveal(), Headers: revealed(s.Headers), Timeout: s.Timeout.Std(),
		}
		if host := hostPort(s.URL.Reveal()); host != "" {
			named = append(named, host)
		}
	}
	policy, err := dial.ParsePolicy(cfg.Egress.AllowPrivate, named)
	if err != nil {
		return nil, err
	}
	guard := dial.New(policy)
	client := guard.HTTPClient(0) // the call's own deadline bounds it
	client.Transport = tracing.Passing(client.Transport, cfg.Tracing.PassTo)
	return &toolbox{
		builtin: builtin.New(zone, notebook{st, st, c}, heardHistory{st, chats}, chats, c),
		servers: mcp.New(servers, client, c, log),
		chats:   chats,
		guard:   guard,
	}, nil
}

// close ends the servers.
func (b *toolbox) close() {
	b.servers.Close()
	b.guard.CloseIdleConnections()
}

// toolset returns the tools that an agent names; nil for an agent without any.
func (b *toolbox) toolset(a *config.Agent) agents.Toolset {
	if len(a.Tools) == 0 {
		return nil
	}
	own, servers := []string{}, []string{}
	for _, name := range a.Tools {
		if slices.Contains(config.BuiltinTools(), name) {
			own = append(own, name)
		} else {
			servers = append(servers, name)
		}
	}
	set := joined{b.builtin.Toolset(own, a.SendTo), b.servers.Toolset(servers)}
	if !slices.Contains(own, builtin.ReadMore) {
		set = append(set, onDemand{b.builtin.Toolset([]string{builtin.ReadMore}, nil), set[1]})
	}
	if len(a.Approve) > 0 {
		return approved{set, a.Approve}
	}
	return set
}

// onDemand is a set of tools that is there while another one is not empty: only the
// tools of servers give results that are too large for a model.
type onDemand struct{ tools, by agents.Toolset }

// Tools returns the tools, or none.
func (o onDemand) Tools(ctx context.Context) ([]agents.Tool, error) {
	others, err := o.by.Tools(ctx)
	if err != nil || len(others) == 0 {
		return nil, err
	}
	return o.tools.Tools(ctx)
}

// approved marks tools whose calls a person must approve.
type approved struct {
	agents.Toolset

	patterns []string
}

// Tools returns all tools, some of them marked.
func (a approved) Tools(ctx context.Context) ([]agents.Tool, error) {
	tools, err := a.Toolset.Tools(ctx)
	for i, t := range tools {
		if slices.ContainsFunc(a.patterns, func(p string) bool { ok, _ := path.Match(p, t.Spec().Name); return ok }) {
			tools[i] = marked{t}
		}
	}
	return tools, err
}

type marked struct{ agents.Tool }

// Spec is the tool's own, with the mark.
func (m marked) Spec() agents.ToolSpec {
	spec := m.Tool.Spec()
	spec.NeedsApproval = true
	return spec
}

// revealed are secrets as they are.
func revealed(secrets map[string]config.Secret) map[string]string {
	out := make(map[string]string, len(secrets))
	for name, value := range secrets {
		out[name] = value.Reveal()
	}
	return out
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
