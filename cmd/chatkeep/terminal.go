package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"os/user"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/watch"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// namespaceEnv keeps terminal sessions of the same directory apart, e.g. those of
// several hosts that share one database.
const namespaceEnv = "CHATKEEP_CLI_NAMESPACE"

// withdrawTimeout bounds taking a message back after Ctrl-C.
const withdrawTimeout = 5 * time.Second

// terminalFlags are those of run and chat.
type terminalFlags struct {
	session string
	workdir string
	agent   string
	slot    string
	json    bool
}

func (f *terminalFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.session, "session", key.DefaultCLISession, "name of the session; each working directory has its own")
	cmd.Flags().StringVar(&f.workdir, "workdir", ".", "working directory that the session belongs to")
	cmd.Flags().StringVar(&f.agent, "agent", "", "agent that answers (default: the first in the configuration)")
	cmd.Flags().StringVar(&f.slot, "slot", "", "context slot (default: the session's current one)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON document per answer")
}

// key names the session.
func (f *terminalFlags) key(cfg *config.Config) (key.Key, error) {
	agent := cmp.Or(f.agent, cfg.Agents[0].ID)
	if !hasAgent(cfg, agent) {
		return key.Key{}, fmt.Errorf("agent %q is not configured; use one of: %s", agent, strings.Join(agentIDs(cfg), ", "))
	}
	if f.slot != "" && !models.ValidName(f.slot) {
		return key.Key{}, fmt.Errorf("%w: --slot must have 1 to %d letters, digits, dots, dashes or underscores", errUsage, models.MaxName)
	}
	hash, err := key.WorkdirHash(f.workdir, os.Getenv(namespaceEnv))
	if err != nil {
		return key.Key{}, fmt.Errorf("--workdir: %w", err)
	}
	k, err := key.CLI(agent, hash, f.session)
	if err != nil {
		return key.Key{}, fmt.Errorf("%w: --session: %w", errUsage, err)
	}
	return k, nil
}

func agentIDs(cfg *config.Config) []string {
	ids := make([]string, len(cfg.Agents))
	for i := range cfg.Agents {
		ids[i] = cfg.Agents[i].ID
	}
	return ids
}

func hasAgent(cfg *config.Config, id string) bool {
	for i := range cfg.Agents {
		if cfg.Agents[i].ID == id {
			return true
		}
	}
	return false
}

// terminal is one session at the terminal, with a gateway that serves it alone.
type terminal struct {
	app     *app
	key     key.Key
	slot    string
	sender  adapters.Sender
	printer *printer

	stop context.CancelFunc
	done chan error
}

// openTerminal opens the storage and starts a gateway. Close the terminal.
func openTerminal(ctx context.Context, f *flags, tf *terminalFlags, out, errOut io.Writer) (*terminal, error) {
	cfg, err := config.Load(f.config, os.Environ())
	if err != nil {
		return nil, err
	}
	k, err := tf.key(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Storage.Driver == config.DriverMemory {
		_, _ = fmt.Fprintln(errOut, "chatkeep: storage driver memory: nothing of this is remembered once the command ends")
	}
	cfg.Server.ShutdownGrace = 0 // nobody waits for what is still running at the end
	a, err := newApp(ctx, cfg, k.String(), quietLogger(cfg, errOut))
	if err != nil {
		return nil, explain(err)
	}
	t := &terminal{
		app: a, key: k, slot: tf.slot, sender: sender(),
		printer: &printer{out: out, errOut: errOut, json: tf.json, plain: isTerminal(out)}, done: make(chan error, 1),
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx)) // an interrupt takes a message back first
	t.stop = stop
	go func() { t.done <- a.gateway.Run(work) }()
	return t, nil
}

// quietLogger keeps the terminal for the conversation: failures of a turn are told
// there. The level debug shows everything.
func quietLogger(cfg *config.Config, w io.Writer) *slog.Logger {
	if cfg.Log.Level != config.LogDebug {
		cfg.Log.Level = config.LogError
	}
	return newLogger(cfg.Log, new(slog.LevelVar), w)
}

// close waits for what a command has left going on, a summary, until an interrupt.
func (t *terminal) close() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	t.app.gateway.Settle(ctx)
	t.stop()
	return errors.Join(<-t.done, t.app.close())
}

// sender is whoever sits at the terminal.
func sender() adapters.Sender {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	name = cmp.Or(name, channelCLI)
	return adapters.Sender{ID: name, Name: name}
}

// ask sends one message and prints its answer as it grows. The end of ctx takes
// the message back.
func (t *terminal) ask(ctx context.Context, text string) error {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return errors.New("the message is not text: send valid UTF-8 without NUL bytes")
	}
	id := models.NewID("inb")
	in := &gateway.Incoming{
		ID: id, Channel: channelCLI, Account: channelCLI, AgentID: t.key.AgentID, Key: &t.key, Slot: t.slot,
		Message: &adapters.Message{ID: id, Chat: adapters.Chat{Type: adapters.Direct}, Sender: t.sender, Mentioned: true, Text: text},
		Awaited: true, Pulled: true, RejectWhenFull: true,
	}
	watcher := t.app.gateway.Watch(in.ID) // before the turn can start: no word is missed
	defer watcher.Close()
	if _, err := t.app.gateway.Accept(ctx, in); err != nil {
		return explain(err)
	}
	err := t.follow(ctx, watcher)
	late := context.WithoutCancel(ctx)
	if err != nil {
		bounded, cancel := context.WithTimeout(late, withdrawTimeout)
		defer cancel()
		if err := t.app.gateway.Withdraw(bounded, in.ID, "interrupted at the terminal"); err != nil {
			return explain(err)
		}
	}
	inbound, err := t.app.store.Inbound(late, in.ID)
	if err != nil {
		return explain(err)
	}
	return t.printer.finish(inbound)
}

// follow prints what becomes visible until the message has its outcome.
func (t *terminal) follow(ctx context.Context, w *watch.Watcher) error {
	for {
		u, err := w.Next(ctx)
		if err != nil || u.Done != nil {
			return err
		}
		t.printer.update(u)
	}
}

// outcomeError says why a message was not answered, and what to do.
func outcomeError(in *models.Inbound) error {
	cause := strings.TrimSpace(in.Error)
	detail := func(say, advice string) error {
		if cause != "" {
			say += ": " + cause
		}
		return fmt.Errorf("%s; %s", say, advice)
	}
	switch in.State {
	case models.InboundDone, models.InboundObserved:
		return nil
	case models.InboundCancelled:
		return detail("stopped before it was answered", "send it again with /retry")
	case models.InboundSuperseded:
		return detail("replaced before it was answered", "send it again")
	case models.InboundIgnored:
		return detail("not accepted", "look at the access settings")
	case models.InboundDead:
		return detail("given up", "look at the log, then send it again")
	}
	switch in.Code {
	case models.CodeTooLarge:
		return detail("the message does not fit the agent's window", "shorten it, or start afresh with /new")
	case models.CodeSlotReadonly, models.CodeSlotNotFound:
		return detail("the slot cannot take it", "choose another with --slot")
	case models.CodeAgentTimeout:
		return detail("the agent took too long", "try again, or raise the agent's timeout")
	default:
		return detail("the agent could not answer", "check the agent's settings with chatkeep doctor, then try again")
	}
}

// explain adds to an error from below what can be done about it.
func explain(err error) error {
	var advice string
	switch {
	case errors.Is(err, store.ErrQueueFull):
		advice = "wait until some are answered, or stop them with: chatkeep run /stop"
	case errors.Is(err, store.ErrTooLarge):
		advice = "send less, or raise limits.maxInboundBytes"
	case errors.Is(err, store.ErrSchemaNewer):
		advice = "use the newest chatkeep on this database"
	case errors.Is(err, store.ErrLocked):
		advice = "stop the other server first"
	case errors.Is(err, store.ErrUnavailable):
		advice = "check storage.dsn and that the database runs"
	default:
		return err
	}
	return fmt.Errorf("%w; %s", err, advice)
}
