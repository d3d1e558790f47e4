// Package report shows a person the progress and the results of a run.
package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// Row is one finished rollout.
type Row struct {
	// Name is the scenario, with agent and trial if a run has several.
	Name string
	// Result is the result with its score.
	Result *busv1.Result
	// Duration is the time in which the rollout was played, without pauses.
	Duration time.Duration
	// Usage is the tokens and costs of the models' turns.
	Usage []*busv1.TurnUsage
}

// ReachedMilestones returns the number of milestones with a similarity above 0.
func (r Row) ReachedMilestones() int {
	reached := 0
	for _, match := range r.Result.GetMilestones() {
		if match.GetSimilarity() > 0 {
			reached++
		}
	}
	return reached
}

// Scored returns whether the rollout counts: a failure of the infrastructure and a cancelled
// rollout do not.
func (r Row) Scored() bool { return resultfile.Scored(r.Result) }

// leastRemark is the minimum width of a remark on a terminal.
const leastRemark = 20

// leastName is the width of a scenario's name below which it does not wrap.
const leastName = 16

// mostRows is the largest number of rollouts with a line each. A larger table shows only the worst,
// and as many without a score.
const (
	mostRows  = 60
	worstRows = 20
)

// legend explains the columns of rollouts.
const legend = "milestones: reached with a similarity above 0, of all there are; score: the mean of their similarities, 0 after a minefield, – without a score"

// incompleteLegend explains a mean of less than all rollouts.
const incompleteLegend = "n: rollouts with a score, of all there are; the others are missing from the means, so these cannot be compared with those of a complete run"

// WriteTable writes one line per rollout, or for the worst if there are many, and one per
// category. Rows and totals may come in any order. Remarks are truncated to the width of a
// terminal; elsewhere they are complete. If all rollouts are answers to EuroEval's records,
// EuroEval prints the categories.
func WriteTable(w io.Writer, rows []Row, totals resultfile.Categories) error {
	shown, hidden := choose(rows)
	list := ""
	switch {
	case len(shown) > 0 && graded(shown):
		list = rollouts(shown, gradeColumns, output.Width(w)) + "\n" + gradeLegend + "\n"
	case len(shown) > 0:
		list = rollouts(shown, scoreColumns, output.Width(w)) + "\n" + legend + "\n"
	}
	categories := ""
	if len(rows) == 0 || !graded(rows) {
		categories = "\n" + categoryTable(totals, output.Width(w)) + "\n"
	}
	_, err := io.WriteString(w, list+hidden+categories)
	return err
}

func categoryTable(totals resultfile.Categories, width int) string {
	categories := output.NewNumbers(table.Row{"category", "score", "turns", "n"})
	totals, incomplete := slices.Clone(totals), false
	slices.SortStableFunc(totals, func(a, b resultfile.Category) int { return compareCategories(a.Name, b.Name) })
	for _, total := range totals {
		n := strconv.Itoa(total.Scored)
		if total.Scored < total.Rollouts {
			n, incomplete = fmt.Sprintf("%d of %d", total.Scored, total.Rollouts), true
		}
		categories.Append(table.Row{total.Name, orNoScore(total.Similarity, "%.3f"), orNoScore(total.TurnCount, "%.1f"), n})
	}
	if incomplete {
		return categories.Fit(width) + "\n" + incompleteLegend
	}
	return categories.Fit(width)
}

// compareCategories orders categories by name, all scenarios last.
func compareCategories(a, b string) int {
	if (a == resultfile.AllCategories) != (b == resultfile.AllCategories) {
		return map[bool]int{true: 1, false: -1}[a == resultfile.AllCategories]
	}
	return strings.Compare(a, b)
}

// choose returns the rows to show: all by name, or of many those without a score and those with the
// lowest. It also describes the others.
func choose(rows []Row) (shown []Row, hidden string) {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b Row) int { return strings.Compare(a.Name, b.Name) })
	if len(rows) <= mostRows {
		return rows, ""
	}
	var worst, unscored []Row
	for _, row := range rows {
		if !row.Scored() {
			unscored = append(unscored, row)
		} else if row.Result.GetSimilarity() < 1 || row.Result.GetCallGrade().GetQuirk() != "" {
			worst = append(worst, row)
		}
	}
	slices.SortStableFunc(worst, func(a, b Row) int { return cmp.Compare(a.Result.GetSimilarity(), b.Result.GetSimilarity()) })
	shown = slices.Concat(unscored[:min(worstRows, len(unscored))], worst[:min(worstRows, len(worst))])
	return shown, fmt.Sprintf("%d of %d rollouts have no score, %d have less than 1; the first %d of each are shown, and the results have every one\n",
		len(unscored), len(rows), len(worst), worstRows)
}

// columns are the columns of rollouts.
type columns struct {
	titles table.Row
	cells  func(Row) table.Row
}

var scoreColumns = columns{
	table.Row{"scenario", "score", "turns", "milestones", "time"},
	func(row Row) table.Row {
		return table.Row{
			row.Name, scoreText(row), row.Result.GetTurnCount(), fmt.Sprintf("%d/%d", row.ReachedMilestones(), row.Result.GetMilestoneCount()), duration(row.Duration),
		}
	},
}

// rollouts returns the lines of the rollouts with their remarks. Names wrap to leave room for the
// remarks. A remark gets the rest of the width, at least leastRemark; a width of 0 is unlimited.
func rollouts(rows []Row, c columns, width int) string {
	names, longest := make([]string, len(rows)), 0
	for i, row := range rows {
		names[i] = row.Name
		longest = max(longest, text.StringWidthWithoutEscSequences(row.Name))
	}
	lines := linesOf(rows, names, c)
	room := width
	if slices.ContainsFunc(rows, func(row Row) bool { return remark(row) != "" }) {
		room -= leastRemark + 1
	}
	if over := text.LongestLineLen(lines[0]) - room; width > 0 && over > 0 && longest > leastName {
		for i, row := range rows {
			names[i] = text.WrapHard(row.Name, max(leastName, longest-over))
		}
		lines = linesOf(rows, names, c)
	}
	at := len(lines)
	for i, row := range slices.Backward(rows) {
		at -= strings.Count(names[i], "\n") + 1
		note := remark(row)
		if note == "" {
			continue
		}
		if width > 0 {
			note = text.Snip(note, max(leastRemark, width-text.StringWidthWithoutEscSequences(lines[at])-1), "…")
		}
		lines[at] += " " + note
	}
	return strings.Join(lines, "\n")
}

// linesOf returns the lines of a table of rollouts under other names, which may have several lines.
func linesOf(rows []Row, names []string, c columns) []string {
	t := output.NewNumbers(c.titles)
	for i, row := range rows {
		cells := c.cells(row)
		cells[0] = names[i]
		t.Append(cells)
	}
	return strings.Split(t.Fit(0), "\n")
}

// WriteUserFlags prints the violations of simulated users by rule; nothing if all users were
// scripted.
func WriteUserFlags(w io.Writer, counts *results.UserFlagCounts) error {
	if counts == nil {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nsimulated user: %d of %d rollouts flagged (%.0f %%)", counts.Flagged, counts.Rollouts, 100*counts.Rate)
	separator := ": "
	for _, rule := range slices.Sorted(maps.Keys(counts.Rules)) {
		if err == nil {
			_, err = fmt.Fprintf(w, "%s%s %d", separator, rule, counts.Rules[rule])
		}
		separator = ", "
	}
	if err == nil {
		_, err = fmt.Fprintln(w)
	}
	return err
}

func scoreText(row Row) string {
	if !row.Scored() {
		return noScore
	}
	return number(row.Result.GetSimilarity())
}

// noScore is the text in place of a missing score.
const noScore = "–"

// orNoScore formats a mean, or noScore without one.
func orNoScore(mean *float64, format string) string {
	if mean == nil {
		return noScore
	}
	return fmt.Sprintf(format, *mean)
}

func number(similarity float64) string { return fmt.Sprintf("%.3f", similarity) }

func duration(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
	}
	return d.Round(10 * time.Millisecond).String()
}

// remark returns the special features of a rollout.
func remark(row Row) string {
	end := row.Result.GetEnd()
	switch end.GetReason() {
	case busv1.EndReason_END_REASON_MESSAGE_LIMIT:
		if grade := row.Result.GetCallGrade(); grade != nil { // a record asks for one message
			return grade.GetQuirk()
		}
		return "message limit"
	case busv1.EndReason_END_REASON_REPEATED_TURN:
		return "the agent repeated its turn"
	case busv1.EndReason_END_REASON_CANCELLED:
		return "cancelled"
	case busv1.EndReason_END_REASON_MODEL_FAILURE:
		return "model failure: " + output.Line(end.GetDetail())
	case busv1.EndReason_END_REASON_INFRASTRUCTURE:
		return "not scored: " + output.Line(end.GetDetail())
	}
	if row.Result.GetMinefieldSimilarity() > 0 {
		return "triggered a minefield"
	}
	return ""
}
