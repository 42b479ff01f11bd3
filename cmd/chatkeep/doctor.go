package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/internal/clock"
)

const (
	// checkTimeout bounds one check of something outside.
	checkTimeout = 15 * time.Second
	// maxClockOffset is how far the database's clock may be off: leases are measured by
	// it, but ages and schedules by ours.
	maxClockOffset = time.Second
	// fine is how an adapter's finding starts if nothing is wrong.
	fine = "ok: "
)

// level says how bad a finding is.
type level string

const (
	levelOK      level = "ok"
	levelWarning level = "warning"
	levelError   level = "error" // must be mended
)

// finding is one line of a doctor's report.
type finding struct {
	Check   string `json:"check"`
	Level   level  `json:"level"`
	Message string `json:"message"`
}

// report is what doctor --json prints.
type report struct {
	OK       bool      `json:"ok"`
	Findings []finding `json:"findings"`
}

func (r *report) add(check string, l level, format string, args ...any) {
	message := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")
	r.Findings = append(r.Findings, finding{check, l, message})
	r.OK = r.OK && l != levelError
}

func newDoctor(f *flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the database, the agents and the platforms",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(f.config, os.Environ())
			if err != nil {
				return err
			}
			r := examine(cmd.Context(), cfg)
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), r)
			} else {
				err = r.print(cmd.OutOrStdout())
			}
			if err == nil && !r.OK {
				err = fmt.Errorf("%d findings must be mended; they are marked %q", r.errors(), levelError)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (r *report) errors() (n int) {
	for _, f := range r.Findings {
		if f.Level == levelError {
			n++
		}
	}
	return n
}

func (r *report) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range r.Findings {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", f.Level, f.Check, printable(f.Message))
	}
	return flushed(w)
}

// examine checks everything that the configuration names. What it finds is the
// report; it does not fail.
func examine(ctx context.Context, cfg *config.Config) *report {
	r := &report{OK: true, Findings: []finding{}}
	quiet := slog.New(slog.DiscardHandler) // what goes wrong is a finding
	checkDatabase(ctx, cfg, quiet, r)
	checkAgents(ctx, cfg, r)
	checkChannels(ctx, cfg, quiet, r)
	checkScopes(cfg, r)
	return r
}

// checkDatabase opens the storage, which checks charset and packet size, and
// compares the clocks.
func checkDatabase(ctx context.Context, cfg *config.Config, log *slog.Logger, r *report) {
	const check = "database"
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	st, err := openStore(ctx, cfg.Storage, false, nil, log)
	if err != nil {
		r.add(check, levelError, "%s", explain(err))
		return
	}
	defer func() { _ = st.Close() }()
	if !st.Durable() {
		r.add(check, levelWarning, "driver %s keeps nothing when the server stops; use sqlite, file or mysql", cfg.Storage.Driver)
	} else {
		r.add(check, levelOK, "%s: reachable, schema up to date%s", cfg.Storage.Driver, charset(cfg.Storage.Driver))
	}
	offset, err := st.ClockOffset(ctx, clock.Real().Now())
	switch {
	case err != nil:
		r.add("clock", levelError, "%s", explain(err))
	case offset.Abs() > maxClockOffset:
		r.add("clock", levelError, "the database's clock is off by %s; synchronise both machines (NTP)", offset.Round(time.Millisecond))
	default:
		r.add("clock", levelOK, "within %s of the database's", maxClockOffset)
	}
	checkOrphans(ctx, cfg, st, r)
}

// charset is what opening a MySQL database has made sure of.
func charset(driver config.Driver) string {
	if driver == config.DriverMySQL {
		return ", charset utf8mb4, packet size large enough"
	}
	return ""
}

// checkAgents asks each agent's service whether it answers and takes the credentials.
func checkAgents(ctx context.Context, cfg *config.Config, r *report) {
	guard, err := agentTransport(cfg)
	if err != nil {
		r.add("agents", levelError, "%s", err)
		return
	}
	client := guard.HTTPClient(checkTimeout)
	defer client.CloseIdleConnections()
	for i := range cfg.Agents {
		a := &cfg.Agents[i]
		check := "agent " + a.ID
		agent, err := buildAgent(a, client, clock.Real())
		if err != nil {
			r.add(check, levelError, "%s", err)
			continue
		}
		prober, ok := agent.(agents.Prober)
		if !ok {
			r.add(check, levelOK, "kind %s: cannot be checked without a message", a.Kind)
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, checkTimeout)
		err = prober.Probe(bounded)
		cancel()
		if err != nil {
			r.add(check, levelError, "%s; check its address and credentials", err)
			continue
		}
		r.add(check, levelOK, "kind %s: reachable", a.Kind)
	}
}

// checkChannels lets each platform's adapter check credentials and permissions.
func checkChannels(ctx context.Context, cfg *config.Config, log *slog.Logger, r *report) {
	channels, err := buildAdapters(cfg, clock.Real(), log)
	if err != nil {
		r.add("channels", levelError, "%s", err)
		return
	}
	for _, channel := range channels {
		check := channel.Channel() + "/" + channel.Account()
		checker, ok := channel.(adapters.Checker)
		if !ok {
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, checkTimeout)
		findings, err := checker.Check(bounded)
		cancel()
		if err != nil {
			r.add(check, levelError, "could not be checked: %s", err)
		}
		for _, text := range findings {
			if good, ok := strings.CutPrefix(text, fine); ok {
				r.add(check, levelOK, "%s", good)
			} else {
				r.add(check, levelError, "%s", text)
			}
		}
	}
}
