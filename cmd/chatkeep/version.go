package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionView is what version --json prints.
type versionView struct {
	Version string `json:"version"`
	Commit  string `json:"commit"` // empty if the binary was built outside a checkout
	Go      string `json:"go"`
	Schema  int64  `json:"schema"`
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema, err := schemaVersion(cmd.Context())
			if err != nil {
				return fmt.Errorf("read schema version: %w", err)
			}
			v := versionView{Version: version, Commit: commit(), Go: runtime.Version(), Schema: schema}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), v)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "chatkeep %s (commit %s, %s, schema %d)\n", v.Version, orUnknown(v.Commit), v.Go, v.Schema)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// commit is what the Go tool recorded of the checkout.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + dirty
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
