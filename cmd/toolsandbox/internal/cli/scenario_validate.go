package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// checkedPacks is the result of validate, in the output for programs.
type checkedPacks struct {
	From      string          `json:"from"`
	Scenarios int             `json:"scenarios"`
	Problems  []problemInPack `json:"problems"`
}

// problemInPack is one problem of a file.
type problemInPack struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Field  string `json:"field"`
	Reason string `json:"reason"`
	Follow int    `json:"follow,omitempty"`
}

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
	if err := writeChecked(w, asJSON, from.SourceNames(), count, mistakes); err != nil {
		return err
	}
	return problemsError(mistakes, from.SourceNames())
}

// problemsError returns the error after the problems of packs have been printed, nil without any.
func problemsError(mistakes document.Errors, from string) error {
	switch n := len(mistakes); n {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("1 problem in %s", from)
	default:
		return fmt.Errorf("%d problems in %s", n, from)
	}
}

// writeChecked prints the problems of packs, or the number of scenarios if there are none.
func writeChecked(w io.Writer, asJSON bool, from string, count int, mistakes document.Errors) error {
	checked := checkedPacks{From: from, Scenarios: count, Problems: []problemInPack{}}
	for _, m := range mistakes {
		checked.Problems = append(checked.Problems, problemInPack{m.File, m.Line, m.Column, m.Field, m.Reason, m.Follow})
		if asJSON {
			continue
		}
		if err := printf(w, "%s", m); err != nil {
			return err
		}
	}
	switch {
	case asJSON:
		return report.JSON(w, checked)
	case len(mistakes) > 0:
		return nil
	}
	return printf(w, "ok: %d scenarios in %s", count, from)
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
			if err != nil {
				return process.UsageErrorf("NAME: %w", err)
			}
			if out == "" {
				_, err := cmd.OutOrStdout().Write(text)
				return err
			}
			return writeTemplate(out, args[0], text, world)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "directory of the pack (default: print the scenario)")
	return cmd
}

// writeTemplate writes a new scenario and its world. The scenario must not exist.
func writeTemplate(dir, name string, text, world []byte) error {
	worlds := filepath.Join(dir, "worlds")
	if err := os.MkdirAll(worlds, 0o755); err != nil {
		return process.UsageErrorf("--out: %w", err)
	}
	file := filepath.Join(dir, name+".yaml")
	if err := writeNew(file, text); errors.Is(err, os.ErrExist) {
		return process.UsageErrorf("NAME: %s exists: choose another name", file)
	} else if err != nil {
		return fmt.Errorf("write scenario: %w", err)
	}
	if err := writeNew(filepath.Join(worlds, scenario.TemplateWorld+".yaml"), world); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("write scenario: %w", err)
	}
	return nil
}

// writeNew writes a file that must not exist.
func writeNew(name string, content []byte) (err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = file.Write(content)
	return err
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
