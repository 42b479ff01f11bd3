package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/sessionmgr/transfer"
	"github.com/chatkeep/chatkeep/store"
)

func newSessionImport(f *flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Store a session that was exported as jsonl",
		Long: `Store a session from what export wrote as jsonl; "-" reads standard input. All of it
is stored, or nothing. A session of the same key must not exist.`,
		Example: `  chatkeep session import lin.jsonl
  chatkeep session export KEY | ssh other chatkeep session import -`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			in := io.NopCloser(cmd.InOrStdin())
			if args[0] != "-" {
				if in, err = os.Open(args[0]); err != nil {
					return fmt.Errorf("read the document: %w", err)
				}
			}
			defer func() { err = errors.Join(err, in.Close()) }()
			return withConfigured(cmd, f, func(ctx context.Context, cfg *config.Config, st store.Store) error {
				got, err := transfer.Import(ctx, st, in)
				if errors.Is(err, store.ErrExists) {
					return errors.New("the session exists already; move it away with chatkeep session move, or delete it, then import again")
				}
				if err != nil {
					return explain(err)
				}
				if err := warnOfAgent(cmd, cfg, got.Key); err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), got)
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "imported %s: %d slots, %d messages\n", printable(got.Key), got.Slots, got.Messages)
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
