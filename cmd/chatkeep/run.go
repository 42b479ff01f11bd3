package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/models"
)

func newRun(f *flags) *cobra.Command {
	tf := &terminalFlags{}
	cmd := &cobra.Command{
		Use:   "run PROMPT",
		Short: "Ask once from the terminal",
		Long: `Run one turn from the terminal and print the answer as it streams.

The session is the working directory's: asking again there goes on where you
were. Chat commands work too (run /status, run /reset, run /help). "-" reads
the prompt from standard input. Works beside a running server and without one.`,
		Example: `  chatkeep run "What did we decide yesterday?"
  git diff | chatkeep run --session review -`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			prompt, err := readPrompt(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			t, err := openTerminal(ctx, f, tf, cmd.OutOrStdout(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, t.close()) }()
			return t.ask(ctx, prompt)
		},
	}
	tf.register(cmd)
	return cmd
}

// readPrompt returns the prompt, from in if it is "-".
func readPrompt(arg string, in io.Reader) (string, error) {
	if arg != "-" {
		if strings.TrimSpace(arg) == "" {
			return "", fmt.Errorf("%w: PROMPT is empty", errUsage)
		}
		return arg, nil
	}
	read, err := io.ReadAll(io.LimitReader(in, models.MaxContent+1)) // more is refused when it is accepted
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	prompt := strings.TrimRight(string(read), "\r\n")
	if strings.TrimSpace(prompt) == "" {
		return "", fmt.Errorf("%w: standard input is empty", errUsage)
	}
	return prompt, nil
}
