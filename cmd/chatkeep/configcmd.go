package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/chatkeep/chatkeep/config"
)

func newConfig(f *flags) *cobra.Command {
	return newGroup("config", "Check and show the configuration",
		newConfigCheck(f), newConfigPrint(f), newConfigSchema(), newConfigReference(),
	)
}

// checkResult is what check --json prints.
type checkResult struct {
	Valid    bool            `json:"valid"`
	Problems []configProblem `json:"problems"`
}

type configProblem struct {
	Source  string `json:"source"`
	Line    int    `json:"line"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

func newConfigCheck(f *flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Report everything that is wrong with the configuration",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			result := checkConfig(f.config)
			if asJSON {
				if err := printJSON(cmd.OutOrStdout(), result); err != nil {
					return err
				}
			} else {
				result.print(cmd)
			}
			if !result.Valid {
				return errReported
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func checkConfig(path string) checkResult {
	result := checkResult{Valid: true, Problems: []configProblem{}}
	_, err := config.Load(path, os.Environ())
	if err == nil {
		return result
	}
	result.Valid = false
	problems, ok := errors.AsType[config.Errors](err)
	if !ok {
		problems = config.Errors{{Message: oneLine(err)}}
	}
	for _, p := range problems {
		result.Problems = append(result.Problems, configProblem(p))
	}
	return result
}

func (r checkResult) print(cmd *cobra.Command) {
	for _, p := range r.Problems {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), config.Problem(p))
	}
	if r.Valid {
		_, _ = fmt.Fprintln(cmd.OutOrStdout(), "the configuration is valid")
	}
}

func newConfigPrint(f *flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Print the configuration in effect, without its secrets",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(f.config, os.Environ())
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), cfg)
			}
			text, err := cfg.YAML()
			if err != nil {
				return fmt.Errorf("print configuration: %w", err)
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newConfigSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration file, for editors",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema, err := config.Schema()
			if err != nil {
				return fmt.Errorf("print schema: %w", err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", schema)
			return err
		},
	}
}

func newConfigReference() *cobra.Command {
	return &cobra.Command{
		Use:   "reference",
		Short: "Print a commented configuration file with every key and its default",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), config.Reference())
			return err
		},
	}
}
