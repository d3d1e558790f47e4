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

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// euroevalLegend explains the columns of data sets.
const euroevalLegend = "euroeval: EuroEval's score with its 95 % interval; aligned: each answer judged by its own functions; bfcl-strict: answers that are\n" +
	"correct by BFCL's rules, interval by functions; differ: answers on which the graders differ, and by which rule"

// gradeLegend explains the columns of graded rollouts.
const gradeLegend = "euroeval, bfcl-strict: correct, or the check that failed; behind it the rule in which the graders differ"

var gradeColumns = columns{
	table.Row{"record", "euroeval", "bfcl-strict", "time"},
	func(row Row) table.Row {
		grade := row.Result.GetCallGrade()
		return table.Row{row.Name, gradeText(grade.GetEuroeval()), gradeText(grade.GetBfclStrict()), duration(row.Duration)}
	},
}

// graded returns whether all scored rollouts are answers to records of EuroEval's task, and there
// is one.
func graded(rows []Row) bool {
	some := false
	for _, row := range rows {
		if row.Result.GetCallGrade() != nil {
			some = true
		} else if row.Scored() {
			return false
		}
	}
	return some
}

// gradeText formats a verdict in one word.
func gradeText(v *busv1.CallVerdict) string {
	switch {
	case v == nil:
		return noScore
	case v.GetCorrect():
		return "correct"
	default:
		return cmp.Or(v.GetExceptionType(), v.GetCheck())
	}
}

// WriteEuroEval writes the figures of each category and each data set; nothing if no record was
// played.
func WriteEuroEval(w io.Writer, content *results.EuroEval) error {
	if content == nil || len(content.DataSets) == 0 {
		return nil
	}
	categories := output.NewNumbers(table.Row{"category", "answers", "euroeval", "bfcl-strict", "differ"})
	for _, c := range content.Categories() {
		categories.Append(table.Row{c.Category, c.Predictions, percent(c.EuroEval), percent(c.Strict), c.Disagreements})
	}
	sets := output.NewNumbers(table.Row{"data set", "split", "answers", "euroeval", "aligned", "bfcl-strict", "differ"})
	for i := range content.DataSets {
		set := &content.DataSets[i]
		sets.Append(table.Row{
			set.DataSet, set.Split, set.Predictions, intervalText(set.EuroEval), intervalText(set.Aligned), intervalText(set.StrictShare), set.Disagreements,
		})
	}
	failures := ""
	for i := range content.DataSets {
		if set := &content.DataSets[i]; set.Failed > 0 {
			failures += fmt.Sprintf("%s: %d of %d iterations do not count, because EuroEval's metric raises\n", set.DataSet, set.Failed, content.Iterations)
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\n\n%s\n%s%s\n%s\n", categories.Fit(output.Width(w)), sets.Fit(output.Width(w)), failures, euroevalLegend, quirks(content.DataSets))
	return err
}

// quirks lists the rules in which the graders differ with the number of decisions, the most
// frequent first.
func quirks(sets []euroeval.DataSetScores) string {
	counts := make(map[euroeval.Quirk]int)
	for i := range sets {
		for quirk, n := range sets[i].Quirks {
			counts[quirk] += n
		}
	}
	if len(counts) == 0 {
		return "the graders agree on all answers"
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b euroeval.Quirk) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(string(a), string(b)))
	})
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = fmt.Sprintf("%s %d", name, counts[name])
	}
	return "the graders differ by " + strings.Join(parts, ", ")
}

// intervalText formats a mean in percent with half the width of its interval.
func intervalText(s euroeval.Summary) string {
	switch {
	case math.IsNaN(s.Mean):
		return noScore
	case math.IsNaN(s.Margin):
		return percent(s.Mean)
	default:
		return fmt.Sprintf("%s ± %s", percent(s.Mean), percent(s.Margin))
	}
}

func percent(share float64) string { return fmt.Sprintf("%.2f", 100*share) }
