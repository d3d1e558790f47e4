package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
)

func newScenarioValidate() *cobra.Command {
	var from catalogue.Selection
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check scenarios",
		Long: `validate checks packs, or the built-in catalogue, without playing: unknown fields, undefined names, invalid calls, unreachable
targets. It prints every problem of every file as file:line:column: field: what is wrong.`,
		Example: "  toolsandbox scenario validate\n  toolsandbox scenario validate --pack mine --pack theirs.zip",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return validate(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), &from, asJSON)
		},
	}
	from.RegisterSourceFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// validate loads packs, prints their problems, and fails if there are any.
func validate(ctx context.Context, w, warnings io.Writer, from *catalogue.Selection, asJSON bool) error {
	packs, err := from.Packs(ctx, warnings)
	var mistakes document.Errors
	if err != nil && !errors.As(err, &mistakes) {
		return err
	}
	count := 0
	for _, pack := range packs {
		count += len(pack.Scenarios)
	}
	if err == nil && count == 0 {
		return from.NoScenario()
	}
	return report.WriteChecked(w, asJSON, from.SourceNames(), count, mistakes)
}

func newScenarioNew() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Write a new scenario as a starting point",
		Long: `new prints a scenario that you can play at once, with a comment at each field. With --out it writes a pack: the scenario to
DIR/NAME.yaml and, unless it exists, its world to DIR/worlds/plain.yaml.`,
		Example: "  toolsandbox scenario new feed_the_cat --out mine\n  toolsandbox run --agent oracle --pack mine --out out",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return process.UsageErrorf("NAME: %d given, expected the name of the new scenario", len(args))
			}
			text, world, err := scenario.Template(args[0])
			switch {
			case err != nil:
				return process.UsageErrorf("NAME: %w", err)
			case out == "":
				_, err := cmd.OutOrStdout().Write(text)
				return err
			}
			err = pack.WriteScenario(out, args[0], text, world)
			if errors.Is(err, fs.ErrExist) {
				return process.UsageErrorf("NAME: %s exists: choose another name", filepath.Join(out, args[0]+".yaml"))
			}
			return err
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "directory of the pack (default: print the scenario)")
	return cmd
}

func newScenarioSchema() *cobra.Command {
	var from catalogue.Selection
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of scenarios and worlds, for editors",
		Long: `schema prints the JSON Schema (draft 2020-12) of scenario and world files. An editor with a YAML language server uses it if the
first line is # yaml-language-server: $schema=schema.json. With --pack it contains the pack's tables and
categories.`,
		Example: "  toolsandbox scenario schema > schema.json\n  toolsandbox scenario schema --pack mine > mine/schema.json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema, categories, err := from.Schema()
			if err != nil {
				return err
			}
			text, err := form.JSONSchema(schema, categories)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	from.RegisterSourceFlags(cmd.Flags())
	return cmd
}
