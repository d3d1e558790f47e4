package euroeval

import (
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
)

// Exported is a data set in the file format of EuroEval.
type Exported struct {
	Name, Language string
	// Sizes are the numbers of records of the splits.
	Sizes SplitSizes
	// Files are one file per split, eval.yaml with EuroEval's settings, and README.md. The front
	// matter of README.md maps files to splits.
	Files []File
}

// Export converts a data set to files. The error names a split without records, because EuroEval
// draws rows from each split.
func (d *DataSet) Export() (*Exported, error) {
	split := d.splits()
	out := &Exported{
		Name: d.Name, Language: d.Language, Sizes: SplitSizes{Train: len(split.Train), Val: len(split.Val), Test: len(split.Test)},
	}
	card := exportedCard{Name: d.Name, Language: d.Language}
	for i, recordIndices := range [][]int{split.Train, split.Val, split.Test} {
		if len(recordIndices) == 0 {
			return nil, fmt.Errorf("data set %s: %d records leave none for split %s, expected at least one for each of %s",
				d.Name, len(d.Records), splitFiles[i], strings.Join(splitFiles, ", "))
		}
		file := File{Name: splitFiles[i] + ".jsonl"}
		for _, recordIndex := range recordIndices {
			file.Data = append(file.Data, d.Records[recordIndex].preparedLine()+"\n"...)
		}
		out.Files = append(out.Files, file)
		card.Splits = append(card.Splits, exportedSplit{splitFiles[i], file.Name, len(file.Data), len(recordIndices)})
	}
	out.Files = append(out.Files, File{Name: settingsFile, Data: card.config()}, File{Name: "README.md", Data: card.readme()})
	return out, nil
}

// preparedLine returns a record in EuroEval's format: a line of JSON with four text columns, and
// the question if the record has one.
func (r *Record) preparedLine() string {
	columns := &python.Dict{}
	columns.Set("id", python.Str(r.ID))
	if r.Question != "" {
		columns.Set("question", python.Str(r.Question))
	}
	columns.Set("function", python.Str(r.Function))
	columns.Set("text", python.Str(r.Text))
	columns.Set("target_text", python.Str(r.TargetText))
	return python.ASCIIJSON(columns.Value())
}

// exportedCard is the content of eval.yaml and README.md.
type exportedCard struct {
	Name, Language string
	Splits         []exportedSplit
}

type exportedSplit struct {
	name, file     string
	bytes, records int
}

// config returns eval.yaml as JSON, which is valid YAML. It holds EuroEval's prompt, which is in
// English only.
func (c *exportedCard) config() []byte {
	return fmt.Appendf(nil, "name: %s\ntask: %s\nlanguages:\n- %q\ninstruction_prompt: %s\n",
		python.ASCIIJSON(python.Str(c.Name)), taskName, c.Language, python.ASCIIJSON(python.Str(promptFormat())))
}

// readme returns README.md. Hugging Face's datasets library reads its front matter, and EuroEval
// takes the names of the splits from there.
func (c *exportedCard) readme() []byte {
	out := fmt.Appendf(nil, "---\nlanguage:\n- %q\nconfigs:\n- config_name: default\n  data_files:\n", c.Language)
	for _, split := range c.Splits {
		out = fmt.Appendf(out, "  - split: %s\n    path: %s\n", split.name, split.file)
	}
	out = append(out, "dataset_info:\n  splits:\n"...)
	for _, split := range c.Splits {
		out = fmt.Appendf(out, "  - name: %s\n    num_bytes: %d\n    num_examples: %d\n", split.name, split.bytes, split.records)
	}
	return fmt.Appendf(out, "---\n\n# %s\n\nRecords for EuroEval's task %s, written by ToolSandbox.\n", c.Name, taskName)
}
