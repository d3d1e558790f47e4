// Package report shows a person how a run goes and how it ended.
package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/toolsandbox/toolsandbox/internal/runfiles"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// Row is one finished rollout.
type Row struct {
	// Name is the scenario, with agent and trial where a run has several.
	Name string
	// Result is its score.
	Result *busv1.Result
	// Took is the time from the first to the last message.
	Took time.Duration
	// Usage is what the turns of models cost.
	Usage []*busv1.TurnUsage
}

// Reached returns how many milestones were reached at all.
func (r Row) Reached() int {
	reached := 0
	for _, match := range r.Result.GetMilestones() {
		if match.GetSimilarity() > 0 {
			reached++
		}
	}
	return reached
}

// Scored says whether the rollout counts: a failure of the infrastructure and a cancelled rollout
// do not.
func (r Row) Scored() bool { return runfiles.Scored(r.Result) }

// leastRemark is how many columns a remark gets at least on a terminal.
const leastRemark = 20

// mostRows is up to how many rollouts a table has a line for each. One of more shows the worst
// only, and as many of those without a score.
const (
	mostRows  = 60
	worstRows = 20
)

// legend says what the columns of rollouts count.
const legend = "milestones: reached with a similarity above 0, of all there are; score: the mean of their similarities, 0 after a minefield, – without a score"

// Table writes one line per rollout, or for the worst if there are many, and one per category. Rows
// and totals may come in any order. What is said about a rollout is cut to the width of w where
// that is a terminal, and else stands there whole. Where all rollouts are answers to EuroEval's
// records, the categories are left to EuroEval.
func Table(w io.Writer, rows []Row, totals runfiles.Categories) error {
	shown, others := choose(rows)
	list := ""
	switch {
	case len(shown) > 0 && graded(shown):
		list = rollouts(shown, gradeColumns, width(w)) + "\n" + gradeLegend + "\n"
	case len(shown) > 0:
		list = rollouts(shown, scoreColumns, width(w)) + "\n" + legend + "\n"
	}
	categories := ""
	if len(rows) == 0 || !graded(rows) {
		categories = "\n" + categoryTable(totals) + "\n"
	}
	_, err := io.WriteString(w, list+others+categories)
	return err
}

func categoryTable(totals runfiles.Categories) string {
	categories := newTable(table.Row{"category", "score", "turns"})
	totals = slices.Clone(totals)
	slices.SortStableFunc(totals, func(a, b runfiles.Category) int {
		if (a.Name == runfiles.AllCategories) != (b.Name == runfiles.AllCategories) {
			return map[bool]int{true: 1, false: -1}[a.Name == runfiles.AllCategories]
		}
		return strings.Compare(a.Name, b.Name)
	})
	for _, total := range totals {
		categories.AppendRow(table.Row{total.Name, orNoScore(total.Similarity, "%.3f"), orNoScore(total.TurnCount, "%.1f")})
	}
	return categories.Render()
}

// choose returns the rows that are shown: all by name, or of many those without a score and those
// with the lowest. It says which the others are.
func choose(rows []Row) (shown []Row, others string) {
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
	return shown, fmt.Sprintf("%d of %d rollouts have no score, %d have less than 1; the first %d of each are shown, and %s has every one\n",
		len(unscored), len(rows), len(worst), worstRows, runfiles.SummaryFile)
}

// columns are what a table says of rollouts.
type columns struct {
	titles table.Row
	cells  func(Row) table.Row
}

var scoreColumns = columns{
	table.Row{"scenario", "score", "turns", "milestones", "time"},
	func(row Row) table.Row {
		return table.Row{
			row.Name, scoreText(row), row.Result.GetTurnCount(), fmt.Sprintf("%d/%d", row.Reached(), row.Result.GetMilestoneCount()), duration(row.Took),
		}
	},
}

// rollouts returns the lines of the rollouts. Remarks, each on the line of its rollout, get what is
// left of a width, but leastRemark at least; a width of 0 is no bound.
func rollouts(rows []Row, c columns, width int) string {
	t := newTable(c.titles)
	for _, row := range rows {
		t.AppendRow(c.cells(row))
	}
	lines := strings.Split(t.Render(), "\n")
	for i, row := range rows {
		at := len(lines) - len(rows) + i
		said := remark(row)
		if said == "" {
			continue
		}
		if width > 0 {
			said = text.Snip(said, max(leastRemark, width-text.StringWidthWithoutEscSequences(lines[at])-1), "…")
		}
		lines[at] += " " + said
	}
	return strings.Join(lines, "\n")
}

// Contract prints how often simulated users broke their contract, by rule; nothing where all users
// were scripted.
func Contract(w io.Writer, contract *runfiles.UserContract) error {
	if contract == nil {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nsimulated user: %d of %d rollouts flagged (%.0f %%)", contract.Flagged, contract.Rollouts, 100*contract.Rate)
	separator := ": "
	for _, rule := range slices.Sorted(maps.Keys(contract.Rules)) {
		if err == nil {
			_, err = fmt.Fprintf(w, "%s%s %d", separator, rule, contract.Rules[rule])
		}
		separator = ", "
	}
	if err == nil {
		_, err = fmt.Fprintln(w)
	}
	return err
}

func newTable(header table.Row) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Options.DrawBorder = false
	t.Style().Options.SeparateColumns = false
	t.AppendHeader(header)
	var right []table.ColumnConfig
	for i := 1; i < len(header); i++ {
		if header[i] != "" {
			right = append(right, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	t.SetColumnConfigs(right)
	return t
}

func scoreText(row Row) string {
	if !row.Scored() {
		return noScore
	}
	return number(row.Result.GetSimilarity())
}

// noScore stands where a score would.
const noScore = "–"

// orNoScore formats a mean, of which there is none if nothing has a score.
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

// remark says what is special about a rollout.
func remark(row Row) string {
	end := row.Result.GetEnd()
	switch end.GetReason() {
	case busv1.EndReason_END_REASON_MESSAGE_LIMIT:
		if grade := row.Result.GetCallGrade(); grade != nil { // one message is all that a record asks for
			return grade.GetQuirk()
		}
		return "message limit"
	case busv1.EndReason_END_REASON_CANCELLED:
		return "cancelled"
	case busv1.EndReason_END_REASON_MODEL_FAILURE:
		return "model failure: " + line(end.GetDetail())
	case busv1.EndReason_END_REASON_INFRASTRUCTURE:
		return "not scored: " + line(end.GetDetail())
	}
	if row.Result.GetMinefieldSimilarity() > 0 {
		return "triggered a minefield"
	}
	return ""
}

// line puts a text on one line. What would move the cursor or colour the screen is replaced: models
// and servers write the texts.
func line(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ReplaceAll(strings.Join(lines, "; "), "\t", " "))
}
