package catalogue

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/toolsandbox/toolsandbox/internal/flagrule"
	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// narrowing leaves out some of the selected scenarios.
type narrowing struct {
	categories, excluded []string
	// limit is the number of scenarios that are drawn, 0 for all.
	limit int
	seed  int64
}

func (n *narrowing) register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&n.categories, "category", nil, "only scenarios of one of these `categories`, e.g. STATE_DEPENDENCY,COREFERENCE")
	flags.StringSliceVar(&n.excluded, "exclude", nil, "`names` of scenarios to leave out, with * and ?")
	flags.IntVar(&n.limit, "limit", 0, "draw at most this `number` of scenarios, with categories as in all of them (default: all)")
	flags.Int64Var(&n.seed, "limit-seed", 0, "another `seed` draws other scenarios")
	flagrule.Needs(flags, "limit", "limit-seed")
}

// apply returns the scenarios that are left, in their order.
func (n *narrowing) apply(all []scenario.Expanded) ([]scenario.Expanded, error) {
	if n.limit < 0 {
		return nil, process.UsageErrorf("--limit: %d given, expected 1 or more", n.limit)
	}
	left, err := n.exclude(all)
	if err != nil || len(n.categories) == 0 && (n.limit == 0 || len(left) <= n.limit) {
		return left, err
	}
	categories := make([][]string, len(left))
	for i := range left {
		categories[i] = resultfile.CountedCategories(left[i].Scenario().GetSetup().GetCategories())
	}
	if len(n.categories) > 0 {
		if left, categories, err = n.inCategories(left, categories); err != nil {
			return nil, err
		}
	}
	if n.limit == 0 || len(left) <= n.limit {
		return left, nil
	}
	var drawn []scenario.Expanded
	for _, i := range n.draw(left, categories) {
		drawn = append(drawn, left[i])
	}
	return drawn, nil
}

// exclude leaves out the scenarios that match a pattern. Every pattern must match one.
func (n *narrowing) exclude(all []scenario.Expanded) ([]scenario.Expanded, error) {
	left := slices.Clone(all)
	for _, pattern := range n.excluded {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, process.UsageErrorf("--exclude: pattern %q: %w", pattern, err)
		}
		matches := func(e scenario.Expanded) bool {
			name, _ := path.Match(pattern, e.Name)
			base, _ := path.Match(pattern, e.Base)
			return name || base
		}
		if !slices.ContainsFunc(all, matches) {
			return nil, process.UsageErrorf("--exclude: %q matches none of the %d selected scenarios", pattern, len(all))
		}
		left = slices.DeleteFunc(left, matches)
	}
	if len(left) == 0 {
		return nil, process.UsageErrorf("--exclude: %s leaves no scenario", strings.Join(n.excluded, ","))
	}
	return left, nil
}

// inCategories keeps the scenarios of the wanted categories.
func (n *narrowing) inCategories(all []scenario.Expanded, categories [][]string) (left []scenario.Expanded, of [][]string, err error) {
	known := make(map[string]bool)
	for i := range all {
		wanted := false
		for _, category := range categories[i] {
			known[category] = true
			wanted = wanted || slices.Contains(n.categories, category)
		}
		if wanted {
			left, of = append(left, all[i]), append(of, categories[i])
		}
	}
	for _, category := range n.categories {
		if known[category] {
			continue
		}
		names := slices.Sorted(maps.Keys(known))
		hint := "expected one of " + strings.Join(names, ", ")
		if nearest := spelling.Nearest(category, names, 3); nearest != "" {
			hint = fmt.Sprintf("did you mean %s?", nearest)
		}
		return nil, nil, process.UsageErrorf("--category: no selected scenario is in %q; %s", category, hint)
	}
	return left, of, nil
}

// draw returns the positions of the drawn scenarios in ascending order. Each step takes the
// scenario whose categories are most behind their share of all scenarios, of equal ones the one
// with the lowest digest of seed and name: another scenario in the pack changes few of the drawn.
func (n *narrowing) draw(all []scenario.Expanded, categories [][]string) []int {
	share := make(map[string]float64)
	for _, of := range categories {
		for _, category := range of {
			share[category] += 1 / float64(len(all))
		}
	}
	order := make([]int, len(all))
	digests := make([][sha256.Size]byte, len(all))
	for i := range all {
		order[i], digests[i] = i, sha256.Sum256(fmt.Append(nil, n.seed, " ", all[i].Name))
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(digests[a][:], digests[b][:]) })
	drawn := make(map[string]int)
	var chosen []int
	for len(chosen) < n.limit {
		behind := func(i int) float64 {
			sum := 0.0
			for _, category := range categories[i] {
				sum += share[category]*float64(len(chosen)+1) - float64(drawn[category])
			}
			return sum / float64(max(len(categories[i]), 1))
		}
		best := 0
		for at := range order {
			if cmp.Compare(behind(order[at]), behind(order[best])) > 0 {
				best = at
			}
		}
		for _, category := range categories[order[best]] {
			drawn[category]++
		}
		chosen = append(chosen, order[best])
		order = slices.Delete(order, best, best+1)
	}
	slices.Sort(chosen)
	return chosen
}
