package analysis

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

const (
	missing = "–"
	tooFew  = "too few"
	small   = "*"
)

// Letter names a run in a table: A to Z, then AA and so on.
func Letter(run int) string {
	const letters = 26
	if run >= letters {
		return Letter(run/letters-1) + Letter(run%letters)
	}
	return string(rune('A' + run))
}

// sections returns the tables of the report for people.
func (r *Report) sections() []section {
	sections := []section{{notes: r.runLines()}, {
		title: "Scores by category",
		table: r.withFloors(r.scoreTable("category", func(g Group) (string, bool) { return g.Category, g.Variant == AllVariants })),
		notes: r.scoreNotes(),
	}}
	variants := r.scoreTable("variant", func(g Group) (string, bool) {
		return g.Variant, g.Variant != AllVariants && g.Category == resultfile.AllCategories
	})
	if variants != nil {
		sections = append(sections, section{title: "Scores by variant", table: variants})
	}
	if r.Variance != nil {
		sections = append(sections, r.Variance.section())
	}
	sections = append(sections, r.passSection(), r.effortSection())
	if causes := r.countTable("cause", func(g Group) map[string]int { return g.Causes }); causes != nil {
		sections = append(sections, section{title: "Rollouts with a cause", table: causes})
	}
	if faults := r.countTable("rule", func(g Group) map[string]int { return g.UserFaults }); faults != nil {
		sections = append(sections, section{title: "Rollouts in which the user left its role", table: faults})
	}
	return sections
}

// runLines describes the runs.
func (r *Report) runLines() []string {
	var lines []string
	for i, run := range r.Runs {
		line := Letter(i) + ": " + run.text()
		if whole, ok := r.Whole(i); ok {
			line += fmt.Sprintf(", %d rollouts", whole.Rollouts)
			for _, class := range slices.Sorted(maps.Keys(whole.Unscored)) {
				line += fmt.Sprintf(", %d without a score (%s)", whole.Unscored[class], class)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// Whole returns the group of all rollouts of a run.
func (r *Report) Whole(run int) (Group, bool) {
	at := slices.IndexFunc(r.Groups, func(g Group) bool {
		return g.Run == run && g.Variant == AllVariants && g.Category == resultfile.AllCategories
	})
	if at < 0 {
		return Group{}, false
	}
	return r.Groups[at], true
}

// scoreTable returns the scores of the groups that name accepts, in the order of their names and
// runs; nil without any.
func (r *Report) scoreTable(title string, name func(Group) (string, bool)) *output.Table {
	t := output.NewNumbers(table.Row{title, "run", "n", "base", "score", "95 % interval", "deviation"})
	var names []string
	groups := make(map[string][]Group)
	for _, g := range r.Groups {
		if key, ok := name(g); ok {
			if groups[key] == nil {
				names = append(names, key)
			}
			groups[key] = append(groups[key], g)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.SortStableFunc(names, func(a, b string) int { return compareKeys([2]string{"", a}, [2]string{"", b}) })
	for _, key := range names {
		for _, g := range groups[key] {
			n := fmt.Sprint(g.Scored)
			if g.Scored < g.Rollouts {
				n = fmt.Sprintf("%d of %d", g.Scored, g.Rollouts)
			}
			t.Append(table.Row{key, Letter(g.Run), n, g.Scenarios, rounded(g.Score.Mean), g.Score.IntervalText(), rounded(g.TrialDeviation)})
		}
	}
	return t
}

// withFloors adds what agents without a model score on all scenarios of each run to a table of
// scores, which may be nil.
func (r *Report) withFloors(t *output.Table) *output.Table {
	for _, agent := range []struct {
		name  string
		floor func(*results.CategoryFloors) *results.Floor
	}{
		{"idle agent", func(f *results.CategoryFloors) *results.Floor { return &f.Idle }},
		{"random agent", func(f *results.CategoryFloors) *results.Floor { return &f.Random }},
		{"oracle", func(f *results.CategoryFloors) *results.Floor { return f.Oracle }},
	} {
		for i := range r.Runs {
			if whole, ok := r.Whole(i); ok && whole.Floors != nil {
				if floor := agent.floor(whole.Floors); floor != nil {
					t.Append(table.Row{agent.name, Letter(i), floor.Rollouts, missing, rounded(&floor.Mean), missing, missing})
				}
			}
		}
	}
	return t
}

// scoreNotes explains the columns of scores.
func (r *Report) scoreNotes() []string {
	notes := []string{
		"n: rollouts with a score; base: base scenarios, the clusters of the interval; deviation: of the trials of one scenario",
	}
	if slices.ContainsFunc(r.Groups, func(g Group) bool { return g.Floors != nil }) {
		notes = append(notes, "idle agent, random agent, oracle: what they score on the scenarios of the run")
	}
	if slices.ContainsFunc(r.Groups, func(g Group) bool { return g.Score.Small }) {
		notes = append(notes, fmt.Sprintf("%s: fewer than %d base scenarios; %s: they give no interval between 0 and 1", small, fewScenarios, tooFew))
	}
	return notes
}

// IntervalText is the interval for people.
func (e Estimate) IntervalText() string {
	switch {
	case e.Mean == nil:
		return missing
	case e.Interval == nil:
		return tooFew
	}
	text := fmt.Sprintf("%.3f to %.3f", e.Interval.Low, e.Interval.High)
	if e.Small {
		text += " " + small
	}
	return text
}

// passSection returns the rates of passes of all scenarios.
func (r *Report) passSection() section {
	t := output.NewNumbers(table.Row{"k", "run", "pass@k", "95 % interval", "pass^k", "95 % interval"})
	rates := 0
	for i := range r.Runs {
		whole, _ := r.Whole(i)
		rates = max(rates, len(whole.Passes))
	}
	for k := range rates {
		for i := range r.Runs {
			if whole, _ := r.Whole(i); k < len(whole.Passes) {
				p := whole.Passes[k]
				t.Append(table.Row{k + 1, Letter(i), rounded(p.Any.Mean), p.Any.IntervalText(), rounded(p.All.Mean), p.All.IntervalText()})
			}
		}
	}
	return section{
		title: fmt.Sprintf("Passes: a score of %v or more", r.PassAt), table: t,
		notes: []string{"pass@k: at least one of k trials passes; pass^k: all of k trials pass"},
	}
}

// effortSection returns the effort of a rollout.
func (r *Report) effortSection() section {
	t := output.NewNumbers(table.Row{"run", "turns", "calls", "seconds", "tokens in", "tokens out", "USD", "user faults"})
	for i := range r.Runs {
		whole, _ := r.Whole(i)
		e := whole.Effort
		t.Append(table.Row{
			Letter(i), digits(e.Turns, 1), digits(e.Calls, 1), digits(e.Seconds, 2), digits(e.InputTokens, 0), digits(e.OutputTokens, 0),
			digits(e.CostUSD, 4), share(whole.UserFlagged),
		})
	}
	return section{title: "Mean of a rollout", table: t}
}

// countTable returns counts of rollouts by kind and run, nil without any.
func (r *Report) countTable(title string, counts func(Group) map[string]int) *output.Table {
	kinds := make(map[string]bool)
	header := table.Row{title}
	for i := range r.Runs {
		header = append(header, Letter(i))
		whole, _ := r.Whole(i)
		for kind := range counts(whole) {
			kinds[kind] = true
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	t := output.NewNumbers(header)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		row := table.Row{strings.ReplaceAll(kind, "_", " ")}
		for i := range r.Runs {
			whole, _ := r.Whole(i)
			row = append(row, counts(whole)[kind])
		}
		t.Append(row)
	}
	return t
}

func rounded(value *float64) string { return digits(value, 3) }

func digits(value *float64, after int) string {
	if value == nil {
		return missing
	}
	return fmt.Sprintf("%.*f", after, *value)
}

func share(value *float64) string {
	if value == nil {
		return missing
	}
	return fmt.Sprintf("%.0f %%", 100**value)
}
