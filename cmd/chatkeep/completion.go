package main

import (
	"github.com/spf13/cobra"
)

func newCompletion() *cobra.Command {
	return newGroup("completion", "Print a completion script for a shell",
		completionFor("bash", "source <(chatkeep completion bash)", func(cmd *cobra.Command) error {
			return cmd.Root().GenBashCompletionV2(cmd.OutOrStdout(), true)
		}),
		completionFor("zsh", `chatkeep completion zsh > "${fpath[1]}/_chatkeep"`, func(cmd *cobra.Command) error {
			return cmd.Root().GenZshCompletion(cmd.OutOrStdout())
		}),
		completionFor("fish", "chatkeep completion fish | source", func(cmd *cobra.Command) error {
			return cmd.Root().GenFishCompletion(cmd.OutOrStdout(), true)
		}),
	)
}

func completionFor(shell, use string, generate func(cmd *cobra.Command) error) *cobra.Command {
	return &cobra.Command{
		Use:     shell,
		Short:   "Print the script for " + shell,
		Example: "  " + use,
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return generate(cmd) },
	}
}
