package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/gateway/command"
	"github.com/chatkeep/chatkeep/internal/text"
)

func newChat(f *flags) *cobra.Command {
	tf := &terminalFlags{}
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Talk at the terminal",
		Long: `Talk at the terminal, one message per line, in the working directory's session.

Ctrl-C stops the running turn, Ctrl-D ends. Without a terminal every line of
standard input is a message, answered in order; the command fails if one of them
was not answered.

Chat commands work:
` + command.List(text.English, command.Table),
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			t, err := openTerminal(cmd.Context(), f, tf, cmd.OutOrStdout(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, t.close()) }()
			interrupts := make(chan os.Signal, 1)
			signal.Notify(interrupts, os.Interrupt)
			defer signal.Stop(interrupts)
			c := &conversation{
				terminal: t, lines: readLines(cmd.Context(), cmd.InOrStdin()), interrupts: interrupts,
				errOut: cmd.ErrOrStderr(), prompts: isTerminal(cmd.InOrStdin()) && !tf.json,
			}
			return c.run(cmd.Context())
		},
	}
	tf.register(cmd)
	return cmd
}

// conversation is one run of chat.
type conversation struct {
	terminal   *terminal
	lines      <-chan line
	interrupts <-chan os.Signal
	errOut     io.Writer
	// prompts is set if a person types.
	prompts bool

	asked, unanswered int
}

func (c *conversation) run(ctx context.Context) error {
	for {
		c.prompt()
		select {
		case <-ctx.Done():
			return c.end(nil)
		case <-c.interrupts:
			_, _ = fmt.Fprintln(c.errOut, "\nchatkeep: Ctrl-D ends the chat")
		case l := <-c.lines:
			c.say(ctx, l.text)
			if l.err != nil {
				return c.end(l.err)
			}
		}
	}
}

func (c *conversation) prompt() {
	if c.prompts {
		_, _ = io.WriteString(c.errOut, "> ")
	}
}

// say sends one line; an interrupt takes it back.
func (c *conversation) say(ctx context.Context, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	turn, cancel := context.WithCancel(ctx)
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- c.terminal.ask(turn, text) }()
	for {
		select {
		case <-c.interrupts:
			cancel()
		case err := <-answered:
			c.asked++
			if err != nil {
				c.unanswered++
				_, _ = fmt.Fprintf(c.errOut, "chatkeep: %s\n", oneLine(err))
			}
			return
		}
	}
}

// end tells a script whether all of its lines were answered; a person saw it.
func (c *conversation) end(err error) error {
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("read standard input: %w", err)
	case c.prompts:
		_, _ = fmt.Fprintln(c.errOut)
		return nil
	case c.unanswered > 0:
		return fmt.Errorf("%d of %d messages were not answered; send them again", c.unanswered, c.asked)
	default:
		return nil
	}
}

// line is one line of input; err comes with the last one.
type line struct {
	text string
	err  error
}

// readLines reads until the input or ctx ends. A read that blocks is left behind
// when ctx ends: nothing can wake it.
func readLines(ctx context.Context, in io.Reader) <-chan line {
	lines := make(chan line)
	go func() {
		for r := bufio.NewReader(in); ; {
			text, err := r.ReadString('\n')
			select {
			case lines <- line{strings.TrimRight(text, "\r\n"), err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}
