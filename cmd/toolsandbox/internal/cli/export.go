package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
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

// exportedDataSet is a written data set in the output for programs.
type exportedDataSet struct {
	Name     string `json:"name"`
	Language string `json:"language"`
	Folder   string `json:"folder"`
	// Records per split.
	Train int `json:"train"`
	Val   int `json:"val"`
	Test  int `json:"test"`
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
	sets, err := o.from.DataSets()
	if err != nil {
		return err
	}
	selectedSets, err := o.choose(sets)
	if err != nil {
		return err
	}
	var lines []exportedDataSet
	for _, set := range selectedSets {
		folder := filepath.Join(o.out, set.Language)
		if err := writeFolder(folder, set.Files); err != nil {
			return fmt.Errorf("write data set %s: %w", set.Name, err)
		}
		lines = append(lines, exportedDataSet{set.Name, set.Language, folder, set.Sizes.Train, set.Sizes.Val, set.Sizes.Test})
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

// choose returns the data sets of the selected languages, one per language.
func (o *exportOptions) choose(sets []euroeval.DataSet) ([]*euroeval.Exported, error) {
	var known []string
	var selectedSets []*euroeval.Exported
	for i := range sets {
		language := sets[i].Language
		selected := len(o.languages) == 0 || slices.Contains(o.languages, language)
		if selected && slices.Contains(known, language) {
			return nil, process.UsageErrorf("--pack: two data sets in language %s, expected one per folder: export them one by one", language)
		}
		known = append(known, language)
		if !selected {
			continue
		}
		folder := filepath.Join(o.out, language)
		if _, err := os.Lstat(folder); err == nil {
			return nil, process.UsageErrorf("--out: %s exists: choose another directory", folder)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, process.UsageErrorf("--out: %w", err)
		}
		exported, err := sets[i].Export()
		if err != nil {
			return nil, process.UsageErrorf("--pack: %w", err)
		}
		selectedSets = append(selectedSets, exported)
	}
	return selectedSets, catalogue.CheckLanguages(o.languages, known)
}

// writeFolder writes a folder with files atomically.
func writeFolder(folder string, files []euroeval.File) (err error) {
	parent := filepath.Dir(folder)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(parent, filepath.Base(folder)+".new-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temporary))
		}
	}()
	for _, file := range files {
		if err := os.WriteFile(filepath.Join(temporary, file.Name), file.Data, 0o644); err != nil {
			return err
		}
	}
	if err := os.Chmod(temporary, 0o755); err != nil {
		return err
	}
	return os.Rename(temporary, folder)
}
