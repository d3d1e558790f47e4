package catalogue

import (
	_ "embed"
	"path"
	"strings"

	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
)

// originalTests returns the names of the scenarios that the original's --test_mode runs.
func originalTests() []string {
	const base = "send_message_with_contact_content_cellular_off"
	return []string{base + "_multiple_user_turn", base + "_multiple_user_turn_10_distraction_tools", base + "_3_distraction_tools_arg_description_scrambled"}
}

// IsOriginal reports whether all scenarios are imported from the original. Sources that cannot be
// read have none: Load returns the error.
func (c *Selection) IsOriginal() bool {
	sources, err := c.sources()
	if err != nil {
		return false
	}
	for _, from := range sources {
		if from.records {
			return false
		}
		if manifest, err := pack.LoadManifest(from.files); err != nil || !manifest.Original {
			return false
		}
	}
	return true
}

// SelectAsOriginal selects all variants, and with names only the scenarios that have them, as the
// original does.
func (c *Selection) SelectAsOriginal() { c.Variants, c.exact = []string{AllVariants}, true }

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
