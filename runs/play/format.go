package play

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// mostFiles is the number of rollouts beyond which the default results are tables: the files of a
// rollout are three, and 60 to 100 KB.
const mostFiles = 10_000

// checkFormats checks --results.
func (o *Options) checkFormats() error {
	for _, format := range o.formats {
		if format != results.FormatFiles && format != results.FormatParquet {
			return process.UsageErrorf("--results: %q given, expected %s, %s or both; the directory is --out", format, results.FormatFiles, results.FormatParquet)
		}
	}
	if o.flags.Changed("results") && len(o.formats) == 0 {
		return process.UsageErrorf("--results: empty, expected %s, %s or both", results.FormatFiles, results.FormatParquet)
	}
	return nil
}

// formatsOf returns the formats of the results of a run, sorted.
func (o *Options) formatsOf(rollouts int) []string {
	switch {
	case len(o.formats) > 0:
		return slices.Compact(slices.Sorted(slices.Values(o.formats)))
	case rollouts > mostFiles:
		return []string{results.FormatParquet}
	default:
		return []string{results.FormatFiles}
	}
}
