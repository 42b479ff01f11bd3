package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/echo"
	"github.com/chatkeep/chatkeep/agents/fallback"
	"github.com/chatkeep/chatkeep/agents/openai"
	"github.com/chatkeep/chatkeep/agents/webhook"
	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/dial"
	"github.com/chatkeep/chatkeep/internal/telemetry"
	"github.com/chatkeep/chatkeep/internal/tracing"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/filestore"
	"github.com/chatkeep/chatkeep/store/gormstore"
	"github.com/chatkeep/chatkeep/store/memstore"
)

// openStore opens the configured store and brings its schema up to date. A
// server keeps others off an embedded database.
func openStore(ctx context.Context, s config.Storage, server bool, observer gormstore.Observer, log *slog.Logger) (store.Store, error) {
	switch s.Driver {
	case config.DriverMemory:
		return memstore.New(), nil
	case config.DriverSQLite:
		if dir := filepath.Dir(s.DSN.Reveal()); dir != "." {
			if err := os.MkdirAll(dir, 0o750); err != nil {
				return nil, fmt.Errorf("open storage: %w", err)
			}
		}
		return gormstore.Open(ctx, gormstore.Config{
			Driver: gormstore.SQLite, DSN: s.DSN.Reveal(), MaxOpenConns: s.MaxOpenConns,
			Migrate: true, Exclusive: server, Clock: clock.Real(), Logger: log, Observer: observer,
		})
	case config.DriverMySQL:
		return gormstore.Open(ctx, gormstore.Config{
			Driver: gormstore.MySQL, DSN: s.DSN.Reveal(), MaxOpenConns: s.MaxOpenConns,
			Migrate: true, Clock: clock.Real(), Logger: log, Observer: observer,
		})
	case config.DriverFile:
		return filestore.Open(ctx, filestore.Config{
			Dir: s.DSN.Reveal(), MaxOpenConns: s.MaxOpenConns, Exclusive: server, Clock: clock.Real(), Logger: log, Observer: observer,
		})
	default:
		return nil, fmt.Errorf("open storage: unknown driver %q", s.Driver)
	}
}

// agentTransport carries agents' requests: hosts and ports that the configuration
// names, and nothing else that is private.
func agentTransport(cfg *config.Config) (*dial.Guard, error) {
	var named []string
	for _, a := range cfg.Agents {
		for _, u := range []config.URL{a.BaseURL, a.URL} {
			if host := hostPort(u.Reveal()); host != "" {
				named = append(named, host)
			}
		}
	}
	policy, err := dial.ParsePolicy(cfg.Egress.AllowPrivate, named)
	if err != nil {
		return nil, err
	}
	return dial.New(policy), nil
}

func hostPort(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// buildAgents makes the configured agents, each with its fallbacks behind it.
func buildAgents(cfg *config.Config, tools *toolbox, c clock.Clock) (map[string]gateway.Agent, error) {
	guard, err := agentTransport(cfg)
	if err != nil {
		return nil, err
	}
	client := guard.HTTPClient(0) // the turn's own deadline bounds a call
	client.Transport = tracing.Passing(client.Transport, cfg.Tracing.PassTo)
	plain := map[string]agents.Agent{}
	for i := range cfg.Agents {
		a := &cfg.Agents[i]
		if plain[a.ID], err = buildAgent(a, client, c); err != nil {
			return nil, fmt.Errorf("agent %s: %w", a.ID, err)
		}
	}
	built := make(map[string]gateway.Agent, len(plain))
	for i := range cfg.Agents {
		a := &cfg.Agents[i]
		agent := plain[a.ID]
		if len(a.Fallbacks) > 0 {
			members := []fallback.Member{{ID: a.ID, Agent: agent}}
			for _, id := range a.Fallbacks {
				members = append(members, fallback.Member{ID: id, Agent: plain[id]})
			}
			if agent, err = fallback.New(fallback.Config{Timeout: a.Timeout.Std()}, c, members...); err != nil {
				return nil, fmt.Errorf("agent %s: %w", a.ID, err)
			}
		}
		built[a.ID] = gateway.Agent{
			ID: a.ID, Agent: agent, SystemPrompt: a.SystemPrompt, ContextWindow: a.ContextWindow,
			MaxTokens: a.MaxTokens, Timeout: a.Timeout.Std(), Images: a.Images, Tools: tools.toolset(a),
			Model: a.Model, Models: a.Models,
		}
	}
	return built, nil
}

func buildAgent(a *config.Agent, client *http.Client, c clock.Clock) (agents.Agent, error) {
	headers := revealed(a.Headers)
	retries := time.Duration(0)
	if len(a.Fallbacks) > 0 {
		retries = -1 // another agent answers sooner than a retry would
	}
	switch a.Kind {
	case config.AgentEcho:
		return echo.New(echo.Config{
			Delay: a.Delay.Std(), ChunkDelay: a.Delay.Std(), ChunkRunes: a.ChunkSize, Timeout: a.Timeout.Std(),
		}, c), nil
	case config.AgentOpenAI:
		extra := make(map[string]json.RawMessage, len(a.ExtraBody))
		for name, value := range a.ExtraBody {
			extra[name] = json.RawMessage(value)
		}
		return openai.New(openai.Config{
			BaseURL: a.BaseURL.Reveal(), APIKey: a.APIKey.Reveal(), Model: a.Model, MaxTokens: a.MaxTokens,
			Temperature: a.Temperature, Images: a.Images, Headers: headers, ExtraBody: extra,
			Timeout: a.Timeout.Std(), MaxToolRounds: a.MaxToolRounds, RetryBudget: retries,
		}, client, c)
	case config.AgentWebhook:
		return webhook.New(webhook.Config{
			URL: a.URL.Reveal(), Secret: a.Secret.Reveal(), Headers: headers, Timeout: a.Timeout.Std(), RetryBudget: retries,
		}, client, c)
	default:
		return nil, fmt.Errorf("kind %q is unknown", a.Kind)
	}
}

// app is a gateway with its store, as the commands use it.
type app struct {
	cfg     atomic.Pointer[config.Config]
	log     *slog.Logger
	store   store.Store
	gateway *gateway.Gateway
	metrics *telemetry.Metrics
	tracer  *tracing.Tracer // nil: nothing is traced
	tools   *toolbox
}

// close ends what the gateway worked with, once it has stopped.
func (a *app) close() error {
	a.tools.close()
	err := a.store.Close()
	a.tracer.Close()
	if err != nil {
		return fmt.Errorf("close storage: %w", err)
	}
	return nil
}

// newApp puts the program together. only, when not empty, is the one session that
// this process serves.
func newApp(ctx context.Context, cfg *config.Config, only string, log *slog.Logger) (*app, error) {
	server := only == ""
	metrics := telemetry.New(version, clock.Real())
	st, err := openStore(ctx, cfg.Storage, server, metrics.Store(), log)
	if err != nil {
		return nil, err
	}
	a := &app{log: log, store: st, metrics: metrics}
	if a.tools, err = newToolbox(cfg, st, clock.Real(), log); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	owner := models.NewID("replica")
	if endpoint := cfg.Tracing.Endpoint.Reveal(); endpoint != "" {
		if a.tracer, err = tracing.New(tracing.Config{Endpoint: endpoint, Version: version, Replica: owner}, log); err != nil {
			return nil, errors.Join(err, a.close())
		}
	}
	if a.gateway, err = newGateway(cfg, st, a.tools, owner, only, log, gateway.WithMetrics(metrics), gateway.WithTracer(a.tracer)); err != nil {
		return nil, errors.Join(err, a.close())
	}
	a.tools.chats.gateway.Store(a.gateway)
	a.cfg.Store(cfg)
	return a, nil
}

// newGateway makes the gateway of a process that is named owner.
func newGateway(cfg *config.Config, st store.Store, tools *toolbox, owner, only string, log *slog.Logger, options ...gateway.Option) (*gateway.Gateway, error) {
	c := clock.Real()
	built, err := buildAgents(cfg, tools, c)
	if err != nil {
		return nil, err
	}
	settings, err := settingsOf(cfg, built)
	if err != nil {
		return nil, err
	}
	var channels []adapters.Adapter
	if only == "" || isTask(only) { // whoever runs a task sends its answer
		if channels, err = buildAdapters(cfg, c, log); err != nil {
			return nil, err
		}
	}
	images, err := imageGuard(cfg)
	if err != nil {
		return nil, err
	}
	options = append(options, gateway.WithDatabaseTime(), gateway.WithImages(images.HTTPClient(0))) // a fetch has its own deadline
	if at := crashPoint(); at != nil {
		options = append(options, gateway.WithCrashPoint(at))
	}
	return gateway.New(gateway.Config{
		Owner: owner, Lease: cfg.Storage.Lease.Std(), Workers: workers(cfg),
		Grace: cfg.Server.ShutdownGrace.Std(), Only: only,
	}, settings, st, channels, c, log, options...)
}

func isTask(session string) bool {
	k, err := key.Parse(session)
	return err == nil && k.Scope == models.ScopeTask
}

// workers is how many turns run at once: they wait for models, not for CPUs.
func workers(cfg *config.Config) int {
	if cfg.Limits.Workers > 0 {
		return cfg.Limits.Workers
	}
	return max(128, 64*runtime.GOMAXPROCS(0))
}
