package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/interchange"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// exportRunOptions are the flags of export.
type exportRunOptions struct {
	to, out     string
	tables      []string
	acceptEdits bool
}

func newExport() *cobra.Command {
	options := &exportRunOptions{}
	cmd := &cobra.Command{
		Use:   "export RUN --to FORMAT",
		Short: "Write a run for other programs",
		Long: `export writes a run in another format to DIR, and prints the names of the files. csv and jsonl are the tables of a run with
--results parquet, one file each; one --table without --out is printed. atif is a trajectory for each rollout, inspect a log
of Inspect, eee a record of Every Eval Ever. RUN is the --out directory of the run. docs/results.md describes the formats.`,
		Example: `  toolsandbox run --agent oracle --results parquet --out out
  toolsandbox export out --to jsonl --out exported
  toolsandbox export out --to csv --table rollouts
  toolsandbox export out --to inspect --out logs`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return process.UsageErrorf("RUN: %d arguments given, expected the directory of a run", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, _ := results.Locate(args[0])
			return options.run(cmd.Context(), dir, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	tables := strings.Join(results.TableNames(), ", ")
	cmd.Flags().StringVar(&options.to, "to", "", "the `format`: "+strings.Join(exportFormats(), ", "))
	cmd.Flags().StringSliceVar(&options.tables, "table", nil, "`tables` to write: "+tables+" (default: all)")
	cmd.Flags().StringVarP(&options.out, "out", "o", "", "`directory` for the files")
	addAcceptEdits(cmd.Flags(), &options.acceptEdits)
	return cmd
}

// exportFormats returns the formats of tables and of whole runs.
func exportFormats() []string { return append(results.ExportFormats(), interchange.Formats()...) }

func (o *exportRunOptions) run(ctx context.Context, dir string, stdout, stderr io.Writer) error {
	whole := slices.Contains(interchange.Formats(), o.to)
	switch {
	case !whole && !slices.Contains(results.ExportFormats(), o.to):
		return process.UsageErrorf("--to: %q given, expected one of %s", o.to, strings.Join(exportFormats(), ", "))
	case whole && len(o.tables) > 0:
		return process.UsageErrorf("--table: given, but --to %s has no tables", o.to)
	case whole && o.out == "":
		return process.UsageErrorf("--out: missing, expected a directory for the files")
	}
	for i, table := range o.tables {
		if !slices.Contains(results.TableNames(), table) {
			return process.UsageErrorf("--table: %q given, expected one of %s", table, strings.Join(results.TableNames(), ", "))
		}
		if slices.Contains(o.tables[:i], table) {
			return process.UsageErrorf("--table: %s given twice", table)
		}
	}
	if !whole && o.out == "" && len(o.tables) != 1 {
		return process.UsageErrorf("--out: missing, expected a directory for the files, or one --table to print")
	}
	summary, reader, err := report.OpenFinished(ctx, dir, o.acceptEdits, stderr)
	if err != nil {
		return err
	}
	if !whole && o.out == "" {
		return o.explain(dir, reader.Export(stdout, o.tables[0], o.to))
	}
	if len(o.tables) == 0 {
		o.tables = results.TableNames()
	}
	var paths, left []string
	if whole {
		paths, left, err = interchange.Write(o.to, o.out, reader, summary)
	} else {
		paths, err = reader.ExportFiles(o.out, o.tables, o.to)
	}
	if err != nil {
		return o.explain(dir, err)
	}
	if len(left) > 0 {
		if err := report.Warn(stderr, "%d of %d rollouts are left out: %s", len(left), len(summary.Scenarios), strings.Join(left, ", ")); err != nil {
			return err
		}
	}
	return printf(stdout, "%s", strings.Join(paths, "\n"))
}

// explain adds what to do about it to an error of the run in dir.
func (o *exportRunOptions) explain(dir string, err error) error {
	switch {
	case errors.Is(err, results.ErrNoTables):
		return process.UsageErrorf("RUN: %w: play it with --results parquet, or files,parquet", err)
	case errors.Is(err, os.ErrExist), errors.Is(err, storage.ErrNoDirectory):
		return process.UsageErrorf("--out: %w: choose another directory", err)
	default:
		return report.WithAdvice(dir, err)
	}
}
