package tool

import (
	"cmp"
	"slices"

	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/fuzzy"
)

// rank returns the names of all other tools, most distracting first. Tools of the same modules are
// before others, and similar names before others in each part. The original's order breaks ties.
func (c *Catalogue) rank(toolNames []string) []string {
	type candidate struct {
		name  string
		near  bool
		score float64
	}
	modules, texts := make(map[string]bool), make([]*fuzzy.Text, len(toolNames))
	for i, name := range toolNames {
		texts[i] = fuzzy.Prepare(name)
		if t := c.byName[name]; t != nil {
			modules[t.Module] = true
		}
	}
	var candidates []candidate
	for _, t := range c.tools {
		if slices.Contains(toolNames, t.Name) {
			continue
		}
		other := candidate{name: t.Name, near: modules[t.Module]}
		text := fuzzy.Prepare(t.Name)
		for i := range texts {
			other.score = max(other.score, fuzzy.WRatio(text, texts[i]))
		}
		candidates = append(candidates, other)
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		if a.near != b.near {
			if a.near {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.score, a.score)
	})
	names := make([]string, len(candidates))
	for i := range candidates {
		names[i] = candidates[i].name
	}
	return names
}
