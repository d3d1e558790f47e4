package pack

import (
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/document"
)

// limits bound the memory and time for reading a pack.
type limits struct {
	// fileBytes and catalogueBytes are the maximum sizes of a YAML file and of a file in canonical
	// form. packBytes is that of all files together.
	fileBytes, catalogueBytes, packBytes int64
	// entries is the maximum number of files and folders in a folder or archive.
	entries int
	// scenarios is the maximum number of scenarios.
	scenarios int
	// mistakes is the maximum number of reported mistakes.
	mistakes int
	// rows bounds the rows of worlds and scenarios.
	rows scenario.Budget
}

func defaultLimits() limits {
	return limits{
		fileBytes: document.MaxFile, catalogueBytes: maxCatalogue, packBytes: 48 << 20, entries: 100_000, scenarios: 50_000,
		mistakes: document.MaxMistakes, rows: scenario.Budget{Rows: 500_000, Visits: 20_000_000, Copies: 1_000_000},
	}
}

// maxCatalogue is the maximum size of a file in canonical form, and of a compressed archive, in
// bytes.
const maxCatalogue = 32 << 20
