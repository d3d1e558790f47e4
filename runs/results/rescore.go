package results

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
)

// PreviousSummaryFile is the file to which ReplaceSummary moves the old summary.
const PreviousSummaryFile = "result_summary.previous.json"

// ReplaceSummary replaces a run's summary and keeps the old one as PreviousSummaryFile. SummaryFile
// always contains the old or the new one.
func ReplaceSummary(dir string, summary *resultfile.Summary) error {
	old, err := os.ReadFile(filepath.Join(dir, SummaryFile))
	if err != nil {
		return fmt.Errorf("replace summary: %w", err)
	}
	if !json.Valid(old) {
		return fmt.Errorf("replace summary %s: its content is no JSON", dir)
	}
	if err := writeFile(filepath.Join(dir, PreviousSummaryFile), old, true); err != nil {
		return fmt.Errorf("replace summary: %w", err)
	}
	return WriteSummary(dir, summary)
}
