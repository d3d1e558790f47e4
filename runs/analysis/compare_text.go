package analysis

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/runs/output"
)

const (
	// mostNames is the largest number of names in a list of scenarios that are not compared.
	mostNames = 5
	// mostRows is the largest number of changed scenarios with a line each. A larger table shows only
	// endRows of each direction.
	mostRows = 60
	endRows  = 20
	// mostMilestones is the largest number of milestones in such a line.
	mostMilestones = 3
)

// Write writes the comparison in one of Formats besides CSV.
func (c *Comparison) Write(w io.Writer, format string) error {
	if err := checkFormat(format, Formats[:len(Formats)-1]); err != nil {
		return err
	}
	first := "first:  " + c.First.text()
	var sections []section
	for _, other := range c.Others {
		sections = append(sections, section{notes: []string{first, "second: " + other.Run.text()}}, section{table: other.categoryTable(), notes: other.notes()})
		if len(other.Changed) > 0 {
			changed, hidden := other.changedTable()
			sections = append(sections, section{table: changed, notes: hidden})
		}
	}
	return writeSections(w, format, sections)
}

func (c *Change) categoryTable() *output.Table {
	t := output.NewNumbers(table.Row{"category", "n", "base", "first", "second", "change", "95 % interval", "p"})
	for _, category := range c.Categories {
		p := fmt.Sprintf("%.3f", category.Adjusted)
		if category.Adjusted < 0.001 {
			p = "< 0.001"
		}
		t.Append(table.Row{
			category.Name, category.Scenarios, category.Clusters, fmt.Sprintf("%.3f", category.First), fmt.Sprintf("%.3f", category.Second), output.Signed(category.Change), category.interval(), p,
		})
	}
	return t
}

func (c *CategoryChange) interval() string {
	if c.Interval == nil {
		return tooFew
	}
	return output.Signed(c.Interval.Low) + " to " + output.Signed(c.Interval.High)
}

// notes sums up the change below its table.
func (c *Change) notes() []string {
	whole := c.Categories[slices.IndexFunc(c.Categories, func(c CategoryChange) bool { return c.Name == resultfile.AllCategories })]
	line := fmt.Sprintf("%d scenarios: %d better, %d equal, %d worse; ", c.Better+c.Equal+c.Worse, c.Better, c.Equal, c.Worse)
	switch {
	case whole.Interval != nil:
		line += fmt.Sprintf("the interval of the mean change rests on %d base scenarios", whole.Clusters)
	case whole.Clusters == 1:
		line += "too few for an interval: 1 base scenario"
	default:
		line += fmt.Sprintf("too few for an interval: %d base scenarios", whole.Clusters)
	}
	notes := []string{line}
	if whole.Detectable != nil && *whole.Detectable <= 1 {
		notes = append(notes, fmt.Sprintf("as many scenarios show a change of %.3f in %.0f %% of runs", *whole.Detectable, 100*power))
	}
	notes = append(notes, "n: scenarios; base: base scenarios, the clusters of the interval")
	notes = append(notes, "p: of the sign-flip test over base scenarios; those of categories are adjusted by Holm")
	for _, only := range []struct {
		run   string
		names []string
	}{{"first", c.OnlyFirst}, {"second", c.OnlySecond}} {
		if n := len(only.names); n > 0 {
			notes = append(notes, fmt.Sprintf("%d not compared, with a score in the %s run only: %s", n, only.run, listed(only.names)))
		}
	}
	return notes
}

// listed lists names, of many the first ones.
func listed(names []string) string {
	if len(names) > mostNames {
		names = append(slices.Clone(names[:mostNames]), "…")
	}
	return strings.Join(names, ", ")
}

// changedTable returns the changed scenarios, of many those that changed most in each direction.
func (c *Change) changedTable() (changed *output.Table, hidden []string) {
	shown := c.Changed
	if n := len(shown); n > mostRows {
		shown = slices.Concat(shown[:endRows], shown[n-endRows:])
		hidden = []string{fmt.Sprintf("the first and the last %d of %d changes are shown, and --json has every one", endRows, n)}
	}
	t := output.NewNumbers(table.Row{"scenario", "first", "second", "change", ""})
	for _, change := range shown {
		t.Append(table.Row{change.Name, fmt.Sprintf("%.3f", change.First), fmt.Sprintf("%.3f", change.Second), output.Signed(change.Change), change.why()})
	}
	return t, hidden
}

// why names the message at which the trajectories part, and the minefields and milestones that
// changed most, "" without any.
func (c *ScenarioChange) why() string {
	var parts []string
	if c.Parting != nil {
		parts = append(parts, fmt.Sprintf("from message %d", c.Parting.Message))
	}
	if c.FirstMinefields != c.SecondMinefields {
		parts = append(parts, fmt.Sprintf("minefields: %.2f → %.2f", c.FirstMinefields, c.SecondMinefields))
	}
	most := slices.Clone(c.Milestones)
	slices.SortStableFunc(most, func(a, b MilestoneChange) int { return cmp.Compare(b.size(), a.size()) })
	for i, m := range most {
		if i == mostMilestones {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, fmt.Sprintf("milestone %d: %.2f → %.2f", m.Milestone, m.First, m.Second))
	}
	return strings.Join(parts, "; ")
}

func (m MilestoneChange) size() float64 { return max(m.First-m.Second, m.Second-m.First) }
