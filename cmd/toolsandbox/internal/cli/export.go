package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/catalogue"
	"github.com/toolsandbox/toolsandbox/runs/report"
)

// exportOptions are the flags of scenario export.
type exportOptions struct {
	from      catalogue.Selection
	out       string
	languages []string
	asJSON    bool
}

func newScenarioExport() *cobra.Command {
	options := &exportOptions{}
	cmd := &cobra.Command{
		Use:   "export --pack PACK --out DIR",
		Short: "Write records as data sets for EuroEval",
		Long: `export writes the records of a pack in EuroEval's format: a folder for each language with train.jsonl, val.jsonl and test.jsonl,
EuroEval's eval.yaml, and a README.md that names the splits. docs/euroeval.md shows how to load them. DIR is a pack too, with
the same splits.`,
		Example: `  toolsandbox scenario export --pack euroeval --out records
  toolsandbox scenario export --pack euroeval --language de,fr --out records
  toolsandbox run --pack records --split val --agent oracle --out out`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return options.run(cmd.OutOrStdout()) },
	}
	options.from.RegisterSourceFlags(cmd.Flags())
	cmd.Flags().StringVarP(&options.out, "out", "o", "", "directory of the data sets")
	cmd.Flags().StringSliceVar(&options.languages, "language", nil, "`codes` of the languages to write, e.g. de,fr (default: all)")
	cmd.Flags().BoolVar(&options.asJSON, "json", false, "print JSON")
	return cmd
}

func (o *exportOptions) run(stdout io.Writer) error {
	switch {
	case o.out == "":
		return process.UsageErrorf("--out: missing, expected the directory of the data sets")
	case len(o.from.PackPaths) == 0:
		return process.UsageErrorf("--pack: missing, expected euroeval or your own records")
	}
	lines, err := o.from.Export(o.out, o.languages)
	if err != nil {
		return err
	}
	if o.asJSON {
		return report.JSON(stdout, lines)
	}
	for _, line := range lines {
		if err := printf(stdout, "%s: %d records for train, %d for val, %d for test", line.Folder, line.Train, line.Val, line.Test); err != nil {
			return err
		}
	}
	return nil
}
