package mcp

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/clock"
)

// Server is one configured server of tools. Either Command or URL is set.
type Server struct {
	Name string
	// Command is the program and its arguments, for a server on standard input and
	// output. Of this process's environment it gets what programs need to run: paths,
	// language, time zone, proxies, certificates.
	Command []string
	// Env is what its environment holds besides.
	Env map[string]string
	// URL is the endpoint of a server of streamable HTTP.
	URL string
	// Headers are added to every request to URL.
	Headers map[string]string
	// Timeout bounds one call of a tool; zero: whoever calls does.
	Timeout time.Duration
}

// Manager keeps servers connected. It is safe for concurrent use.
type Manager struct {
	links []*link // in the order of the configuration
	log   *slog.Logger
	clock clock.Clock

	end     context.CancelFunc
	running sync.WaitGroup
}

// startWait is how long a turn waits for a server that is just starting.
const startWait = 5 * time.Second

// New returns a manager of servers whose names differ. Nothing starts before the
// first turn that may use a server. client reaches those with a URL and says where
// they may redirect to; its own timeout should be zero. Close the manager.
func New(servers []Server, client *http.Client, c clock.Clock, log *slog.Logger) *Manager {
	life, end := context.WithCancel(context.Background())
	m := &Manager{log: log, clock: c, end: end}
	for _, s := range servers {
		l := newLink(s, client, c, log.With("server", s.Name))
		l.run = sync.OnceFunc(func() { m.running.Go(func() { l.supervise(life) }) })
		m.links = append(m.links, l)
	}
	return m
}

// Close ends all servers, with everything that they started. No Toolset of the
// manager may be used afterwards.
func (m *Manager) Close() {
	m.end()
	m.running.Wait()
}

// Toolset returns the tools that names stand for: a server's name for all that it
// has, or one tool by the name that models see. What is not there is left out.
func (m *Manager) Toolset(names []string) agents.Toolset {
	set := &toolset{clock: m.clock}
	for _, name := range names {
		if pick, ok := m.find(name); ok {
			set.picks = append(set.picks, pick)
		} else {
			m.log.Warn("no MCP server has this name; the tool is left out", "tool", name)
		}
	}
	return set
}

func (m *Manager) find(name string) (pick, bool) {
	for _, l := range m.links {
		if l.server.Name == name {
			return pick{link: l}, true
		}
	}
	for _, l := range m.links {
		if strings.HasPrefix(name, safe(l.server.Name)+separator) {
			return pick{link: l, only: name}, true
		}
	}
	return pick{}, false
}

// pick is a server, or one of its tools.
type pick struct {
	link *link
	only string
}

type toolset struct {
	picks []pick
	clock clock.Clock
}

// Tools returns what is there now. It never fails: a server that is not ready in
// time has no tools in this turn.
func (s *toolset) Tools(ctx context.Context) ([]agents.Tool, error) {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for _, p := range s.picks {
		p.link.run() // all start together, whoever is waited for first
	}
	var out []agents.Tool
	seen := map[string]bool{}
	for _, p := range s.picks {
		for _, t := range p.link.tools(ctx) {
			if name := t.spec.Name; !seen[name] && (p.only == "" || p.only == name) {
				seen[name] = true
				out = append(out, t)
			}
		}
	}
	return out, nil
}
