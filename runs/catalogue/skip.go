package catalogue

import (
	"path"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/packs"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// skipOthers calls load, which reads only the scenarios that a pattern selects if the others can be
// skipped: those of the pack phone alone, which has many, extends none, and is proved by tests. It
// calls load again with all of them after an error, because a message may name others. Without
// patterns all are read.
func (c *Selection) skipOthers(patterns []string, load func() error) error {
	phone := len(c.PackPaths) == 0 || !c.builtin && slices.Equal(c.PackPaths, []string{packs.Phone})
	if phone && !c.Whole && len(patterns) > 0 {
		c.skip = unselected(patterns)
		err := load()
		if c.skip = nil; err == nil {
			return nil
		}
	}
	return load()
}

// unselected returns a predicate for the names of base scenarios without a variant that matches any
// pattern.
func unselected(patterns []string) func(name string) bool {
	names := make(map[string]bool) // a run may have thousands
	var wild []string
	for _, pattern := range patterns {
		if strings.ContainsAny(pattern, `*?[\`) {
			wild = append(wild, pattern)
		}
		names[pattern] = true
	}
	variants := append(suffixedVariants(), scenario.Variant{})
	return func(base string) bool {
		return !slices.ContainsFunc(variants, func(v scenario.Variant) bool {
			name := base + v.Suffix
			return names[name] || slices.ContainsFunc(wild, func(pattern string) bool {
				matched, err := path.Match(pattern, name)
				return err == nil && matched
			})
		})
	}
}
