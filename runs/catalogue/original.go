package catalogue

import (
	_ "embed"
	"path"
	"strings"

	"github.com/toolsandbox/toolsandbox/scenario"
)

// originalNames are the names of the original's scenarios, one per line, without variants.
//
//go:embed original.txt
var originalNames string

// isOriginal reports whether a pattern matches a scenario of the original or a variant of one.
func isOriginal(pattern string) bool {
	for _, variant := range scenario.AllVariants() {
		for name := range strings.Lines(originalNames) {
			if matched, err := path.Match(pattern, strings.TrimSpace(name)+variant.Suffix); err == nil && matched {
				return true
			}
		}
	}
	return false
}
