package cli

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
)

func newScenarioFmt() *cobra.Command {
	var check, asJSON bool
	cmd := &cobra.Command{
		Use:   "fmt FILE...",
		Short: "Format the files of a pack",
		Long: `fmt writes scenario, world and pack files in canonical form, with fields in canonical order and an indentation of two columns,
and prints the names of the changed files. It keeps comments and the meaning of a file and removes empty lines.`,
		Example: "  toolsandbox scenario fmt mine/*.yaml mine/worlds/*.yaml\n  toolsandbox scenario fmt --check mine/*.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return process.UsageErrorf("FILE: missing, expected files to format")
			}
			changed := []string{}
			for _, name := range args {
				different, err := format(name, !check)
				if err != nil {
					return err
				}
				if !different {
					continue
				}
				changed = append(changed, name)
				if asJSON {
					continue
				}
				if err := printf(cmd.OutOrStdout(), "%s", name); err != nil {
					return err
				}
			}
			if asJSON {
				if err := report.JSON(cmd.OutOrStdout(), map[string][]string{"changed": changed}); err != nil {
					return err
				}
			}
			if n := len(changed); check && n > 0 {
				return fmt.Errorf("%d files are not in canonical form: run toolsandbox scenario fmt", n)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit with 1 if any file would change")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON after reading all files")
	return cmd
}

// format returns whether a file is not in its canonical form, and rewrites it on request.
func format(name string, write bool) (different bool, err error) {
	before, err := pack.ReadFile(name, document.MaxFile)
	if err != nil {
		return false, process.UsageErrorf("FILE: %s: %w", name, err)
	}
	after, err := form.Format(name, before)
	if err != nil || bytes.Equal(before, after) || !write {
		return err == nil && !bytes.Equal(before, after), err
	}
	return true, results.WriteFile(name, after)
}
