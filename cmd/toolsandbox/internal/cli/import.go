package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/original/importer"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
	"github.com/toolsandbox/toolsandbox/services/toolhost"
)

const (
	// The files of an imported pack.
	packCatalogue   = "catalogue.binpb"
	packDescription = "pack.yaml"
	// maxOriginal is the largest imported file, in bytes. The original's own catalogue has 2.5 MB.
	maxOriginal = 32 << 20
	// maxMistakes is the number of mistakes to print: a mistake of the exporter is in every
	// scenario.
	maxMistakes = 20
)

// importOptions are the flags of scenario import.
type importOptions struct {
	out   string
	name  string
	force bool

	asJSON bool
}

// importedPack is a new pack in the output for programs.
type importedPack struct {
	Pack      string `json:"pack"`
	Scenarios int    `json:"scenarios"`
	// Variants counts the scenarios and their variants.
	Variants int `json:"variants"`
}

func newScenarioImport() *cobra.Command {
	options := &importOptions{}
	cmd := &cobra.Command{
		Use:   "import FILE --out DIR",
		Short: "Convert the original program's scenarios into a pack",
		Long: `import converts a file of tools/exporter/export.py, which runs inside an installed copy of the original program, into a pack
of all its scenarios and variants. It reports every mistake in the file as file:line:column: field: what is wrong.`,
		Example: `  toolsandbox scenario import scenarios.json --out original
  toolsandbox run --pack original --agent GPT_4_o_2024_05_13`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return process.UsageErrorf("FILE: %d given, expected one file that tools/exporter wrote", len(args))
			}
			return options.run(args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVarP(&options.out, "out", "o", "", "directory of the new pack")
	cmd.Flags().StringVar(&options.name, "name", "original", "name of the new pack")
	cmd.Flags().BoolVar(&options.asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&options.force, "force", false, "write into a directory that is not empty")
	return cmd
}

func (o *importOptions) run(path string, stdout, stderr io.Writer) error {
	if o.out == "" {
		return process.UsageErrorf("--out: missing, expected the directory of the new pack")
	}
	data, err := pack.ReadFile(path, maxOriginal)
	if err != nil {
		return process.UsageErrorf("FILE: %s: %w", path, err)
	}
	if err := o.vacant(); err != nil {
		return err
	}
	scenarios, err := readOriginal(path, data)
	if err != nil {
		return printMistakes(path, err, stderr)
	}
	all := scenarios.All()
	if err := o.write(&scenariov1.Catalogue{Scenarios: all}, filepath.Base(path)); err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	if o.asJSON {
		return report.JSON(stdout, importedPack{o.out, scenarios.BaseCount(), len(all)})
	}
	_, err = fmt.Fprintf(stdout, "%s: %d scenarios with their variants, %d in all\n", o.out, scenarios.BaseCount(), len(all))
	return err
}

// readOriginal reads the file and validates its scenarios.
func readOriginal(path string, data []byte) (*importer.Scenarios, error) {
	scenarios, err := importer.Read(path, data)
	if err != nil {
		return nil, err
	}
	tools, err := scenario.OptionsFor(toolhost.Tools())
	if err != nil {
		return nil, err
	}
	tools.AllowUnreachable = true // one of the original's scenarios wants a call of a tool that it does not give
	return scenarios, scenarios.Check(tools)
}

// printMistakes prints the mistakes of a file, one per line.
func printMistakes(path string, err error, stderr io.Writer) error {
	var mistakes document.Errors
	if !errors.As(err, &mistakes) {
		return err
	}
	for _, mistake := range mistakes[:min(maxMistakes, len(mistakes))] {
		if _, err := fmt.Fprintln(stderr, mistake); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: nothing was written, mistakes: %d", path, len(mistakes))
}

// vacant rejects a directory that is not empty.
func (o *importOptions) vacant() error {
	entries, err := os.ReadDir(o.out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return process.UsageErrorf("--out: %w", err)
	case len(entries) > 0 && !o.force:
		return process.UsageErrorf("--out: %s is not empty: choose another directory, or --force", o.out)
	}
	return nil
}

// write writes the pack's files; the same scenarios give the same bytes.
func (o *importOptions) write(catalogue *scenariov1.Catalogue, source string) error {
	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(catalogue)
	if err != nil {
		return err
	}
	// Every JSON text is a YAML text.
	name, err := json.Marshal(o.name)
	if err != nil {
		return err
	}
	description, err := json.Marshal("Imported from " + source + " by toolsandbox scenario import.")
	if err != nil {
		return err
	}
	if err := results.WriteFile(filepath.Join(o.out, packCatalogue), wire); err != nil {
		return err
	}
	return results.WriteFile(filepath.Join(o.out, packDescription), fmt.Appendf(nil, "name: %s\ndescription: %s\noriginal: true\n", name, description))
}
