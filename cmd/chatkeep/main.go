package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	_ "time/tzdata" // zones of tasks and prompts must resolve in an empty container

	"github.com/spf13/cobra"
)

// version is set by the linker.
var version = "dev"

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	// What Ctrl-C means is up to each command; most just die of it.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// errUsage marks an error in how the program was called.
var errUsage = errors.New("wrong usage")

// errReported marks a failure that the command has told of already.
var errReported = errors.New("failed")

// run is the whole program, for tests too.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errReported):
		return exitFailed
	case errors.Is(err, errUsage):
		_, _ = fmt.Fprintf(errOut, "chatkeep: %s\n", oneLine(err))
		return exitUsage
	default:
		_, _ = fmt.Fprintf(errOut, "chatkeep: %s\n", oneLine(err))
		return exitFailed
	}
}

func oneLine(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}

// flags are those that every command takes.
type flags struct {
	config string
}

func newRoot() *cobra.Command {
	f := &flags{}
	root := &cobra.Command{
		Use:           "chatkeep",
		Short:         "A chat-platform bot gateway with per-chat memory",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usageArgs(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentFlags().StringVar(&f.config, "config", os.Getenv("CHATKEEP_CONFIG"), "configuration file (YAML or JSON)")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w: %w; see %s --help", errUsage, err, cmd.CommandPath())
	})
	root.AddCommand(
		newServe(f), newSimulate(), newRun(f), newChat(f), newSession(f), newSlot(f), newTask(f), newMigrate(f), newStorage(), newConfig(f),
		newDoctor(f), newHealth(f), newVersion(), newCompletion(),
	)
	return root
}

// newGroup makes a command that only holds others.
func newGroup(use, short string, commands ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  usageArgs(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	group.AddCommand(commands...)
	return group
}

// usageArgs makes a wrong number of arguments a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return fmt.Errorf("%w: %w; see %s --help", errUsage, err, cmd.CommandPath())
		}
		return nil
	}
}
