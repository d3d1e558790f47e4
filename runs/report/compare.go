package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"gonum.org/v1/gonum/mathext"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/runs/output"
)

// confidence is the probability of an interval of a mean change.
const confidence = 0.95

// rounding is the largest change that comes from rounding.
const rounding = 1e-9

// mostNames is the largest number of names in a list of scenarios that are not compared.
const mostNames = 5

// Comparison compares two runs by their common scenarios. The score of a scenario is the mean over
// its scored trials, and each scenario has the same weight.
type Comparison struct {
	// First and Second are the runs. A change is Second minus First.
	First  ComparedRun `json:"first"`
	Second ComparedRun `json:"second"`
	// Categories are the means per category, by name, all scenarios last.
	Categories []CategoryChange `json:"categories"`
	// Better, Equal and Worse count the scenarios by their change.
	Better int `json:"better"`
	Equal  int `json:"equal"`
	Worse  int `json:"worse"`
	// Low and High bound the mean change with a confidence of 95 %, by Student's t over the changes of
	// scenarios, in which the variants of a scenario count as one; nil below two scenarios.
	Low  *float64 `json:"change_low"`
	High *float64 `json:"change_high"`
	// Changed are the scenarios with different scores, by their change.
	Changed []ScenarioChange `json:"changed"`
	// OnlyFirst and OnlySecond are the scenarios with a score in one run only.
	OnlyFirst  []string `json:"only_first"`
	OnlySecond []string `json:"only_second"`
}

// ComparedRun is one run of a comparison.
type ComparedRun struct {
	// Directory is its directory, Agent and User its players, empty for a run of the original.
	Directory string `json:"directory"`
	Agent     string `json:"agent"`
	User      string `json:"user"`
	// Scenarios has a score for each scenario with a scored trial.
	Scenarios map[string]*ScenarioScore `json:"-"`
}

// ScenarioScore is the score of a scenario in one run.
type ScenarioScore struct {
	categories []string
	trials     []float64
}

func (s *ScenarioScore) mean() float64 { return mean(s.trials) }

func mean(numbers []float64) float64 {
	sum := 0.0
	for _, number := range numbers {
		sum += number
	}
	return sum / float64(len(numbers))
}

// CategoryChange is the change of a category. Its means are over the common scenarios.
type CategoryChange struct {
	Name      string  `json:"name"`
	Scenarios int     `json:"scenarios"`
	First     float64 `json:"first"`
	Second    float64 `json:"second"`
	Change    float64 `json:"change"`
}

// ScenarioChange is the change of a scenario.
type ScenarioChange struct {
	Name   string  `json:"name"`
	First  float64 `json:"first"`
	Second float64 `json:"second"`
	Change float64 `json:"change"`
}

// NewComparedRun returns the scores of a run. scenario returns the scenario of a rollout's name.
func NewComparedRun(dir string, summary *resultfile.Summary, scenario func(string) string) ComparedRun {
	run := ComparedRun{Directory: dir, Scenarios: make(map[string]*ScenarioScore)}
	for _, rollout := range summary.Scenarios {
		similarity, scored := rollout.Similarity.Number()
		if !scored {
			continue
		}
		name := scenario(rollout.Name)
		if run.Scenarios[name] == nil {
			run.Scenarios[name] = &ScenarioScore{categories: resultfile.CountedCategories(rollout.Categories)}
		}
		run.Scenarios[name].trials = append(run.Scenarios[name].trials, similarity)
	}
	return run
}

// Compare compares two runs. base returns the scenario of a variant's name.
func Compare(first, second ComparedRun, base func(string) string) *Comparison {
	c := &Comparison{
		First: first, Second: second, Categories: []CategoryChange{}, Changed: []ScenarioChange{},
		OnlyFirst: without(first.Scenarios, second.Scenarios), OnlySecond: without(second.Scenarios, first.Scenarios),
	}
	changes := make(map[string][]float64) // by scenario, of its variants
	categories := make(map[string]*CategoryChange)
	for _, name := range slices.Sorted(maps.Keys(first.Scenarios)) {
		if second.Scenarios[name] == nil {
			continue
		}
		change := ScenarioChange{Name: name, First: first.Scenarios[name].mean(), Second: second.Scenarios[name].mean()}
		if change.Change = change.Second - change.First; math.Abs(change.Change) < rounding {
			change.Change = 0
		}
		changes[base(name)] = append(changes[base(name)], change.Change)
		c.count(change)
		for _, category := range first.Scenarios[name].categories {
			if categories[category] == nil {
				categories[category] = &CategoryChange{Name: category}
			}
			categories[category].add(change)
		}
	}
	slices.SortStableFunc(c.Changed, func(a, b ScenarioChange) int { return cmp.Compare(a.Change, b.Change) })
	for _, category := range categories {
		c.Categories = append(c.Categories, category.means())
	}
	slices.SortFunc(c.Categories, func(a, b CategoryChange) int { return compareCategories(a.Name, b.Name) })
	var independent []float64
	for _, scenario := range slices.Sorted(maps.Keys(changes)) {
		independent = append(independent, mean(changes[scenario]))
	}
	c.Low, c.High = interval(independent)
	return c
}

// without returns the scenarios of one run that the other lacks.
func without(run, other map[string]*ScenarioScore) []string {
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(run)) {
		if other[name] == nil {
			names = append(names, name)
		}
	}
	return names
}

func (c *Comparison) count(change ScenarioChange) {
	switch {
	case change.Change > 0:
		c.Better++
	case change.Change < 0:
		c.Worse++
	default:
		c.Equal++
		return
	}
	c.Changed = append(c.Changed, change)
}

// add adds a scenario to the sums of a category, of which means makes means.
func (c *CategoryChange) add(change ScenarioChange) {
	c.Scenarios, c.First, c.Second = c.Scenarios+1, c.First+change.First, c.Second+change.Second
}

func (c *CategoryChange) means() CategoryChange {
	n := float64(c.Scenarios)
	return CategoryChange{Name: c.Name, Scenarios: c.Scenarios, First: c.First / n, Second: c.Second / n, Change: (c.Second - c.First) / n}
}

// interval returns the bounds of the mean of changes, nil below two changes.
func interval(changes []float64) (low, high *float64) {
	if len(changes) < 2 {
		return nil, nil
	}
	middle, squares := mean(changes), 0.0
	for _, change := range changes {
		squares += (change - middle) * (change - middle)
	}
	n := float64(len(changes))
	half := studentT(n-1) * math.Sqrt(squares/(n-1)/n)
	return new(middle - half), new(middle + half)
}

// studentT returns the quantile of Student's t distribution that bounds the confidence from both
// sides.
func studentT(freedom float64) float64 {
	x := mathext.InvRegIncBeta(freedom/2, 0.5, 1-confidence)
	return math.Sqrt(freedom * (1 - x) / x)
}

// WriteComparison writes the means per category, the counts, and the scenarios that changed most.
func WriteComparison(w io.Writer, c *Comparison) error {
	var out strings.Builder
	fmt.Fprintf(&out, "first:  %s\nsecond: %s\n\n", c.First.text(), c.Second.text())
	categories := newTable(table.Row{"category", "scenarios", "first", "second", "change"})
	for _, category := range c.Categories {
		categories.Append(table.Row{category.Name, category.Scenarios, number(category.First), number(category.Second), signed(category.Change)})
	}
	fmt.Fprintf(&out, "%s\n\n%d scenarios: %d better, %d equal, %d worse", categories.Fit(output.Width(w)), c.Better+c.Equal+c.Worse, c.Better, c.Equal, c.Worse)
	if c.Low != nil {
		fmt.Fprintf(&out, "; 95 %% interval of the mean change: %s to %s", signed(*c.Low), signed(*c.High))
	}
	out.WriteString("\n")
	for _, only := range []struct {
		run   string
		names []string
	}{{"first", c.OnlyFirst}, {"second", c.OnlySecond}} {
		if n := len(only.names); n > 0 {
			fmt.Fprintf(&out, "%d not compared, with a score in the %s run only: %s\n", n, only.run, listed(only.names))
		}
	}
	if len(c.Changed) > 0 {
		out.WriteString("\n" + c.changedTable(output.Width(w)) + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// listed lists names, of many the first ones.
func listed(names []string) string {
	if len(names) > mostNames {
		names = append(slices.Clone(names[:mostNames]), "…")
	}
	return strings.Join(names, ", ")
}

func (r ComparedRun) text() string {
	if r.Agent == "" {
		return r.Directory
	}
	return fmt.Sprintf("%s, agent %s, user %s", r.Directory, r.Agent, r.User)
}

// changedTable returns the changed scenarios, of many those that changed most in each direction.
func (c *Comparison) changedTable(width int) string {
	shown, hidden := c.Changed, ""
	if n := len(shown); n > mostRows {
		shown = slices.Concat(shown[:worstRows], shown[n-worstRows:])
		hidden = fmt.Sprintf("\nthe first and the last %d of %d changes are shown, and --json has every one", worstRows, n)
	}
	rows := newTable(table.Row{"scenario", "first", "second", "change"})
	for _, change := range shown {
		rows.Append(table.Row{change.Name, number(change.First), number(change.Second), signed(change.Change)})
	}
	return rows.Fit(width) + hidden
}

// signed formats a change. A change that rounds to 0 has no sign.
func signed(change float64) string {
	if text := fmt.Sprintf("%+.3f", change); strings.Trim(text, "+-0.") != "" {
		return text
	}
	return number(0)
}
