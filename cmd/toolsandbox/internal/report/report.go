// Package report shows a person how a run goes and how it ended.
package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/toolsandbox/toolsandbox/internal/results"
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

// Scored says whether the rollout counts: a failure of the infrastructure and a cancelled rollout do not.
func (r Row) Scored() bool { return results.Scored(r.Result) }

// allCategories is the total over everything; it stands last.
const allCategories = "ALL_CATEGORIES"

// Table writes one line per rollout and one per category. Rows and totals may come in any order.
func Table(w io.Writer, rows []Row, totals results.Categories) error {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b Row) int { return strings.Compare(a.Name, b.Name) })
	rollouts := newTable(table.Row{"scenario", "score", "turns", "milestones", "time", ""})
	for _, row := range rows {
		rollouts.AppendRow(table.Row{row.Name, scoreText(row), row.Result.GetTurnCount(),
			fmt.Sprintf("%d/%d", row.Reached(), row.Result.GetMilestoneCount()), duration(row.Took), remark(row)})
	}
	categories := newTable(table.Row{"category", "score", "turns"})
	totals = slices.Clone(totals)
	slices.SortStableFunc(totals, func(a, b results.Category) int {
		if (a.Name == allCategories) != (b.Name == allCategories) {
			return map[bool]int{true: 1, false: -1}[a.Name == allCategories]
		}
		return strings.Compare(a.Name, b.Name)
	})
	for _, total := range totals {
		categories.AppendRow(table.Row{total.Name, number(total.Similarity), fmt.Sprintf("%.1f", total.TurnCount)})
	}
	_, err := fmt.Fprintf(w, "%s\n\n%s\n", rollouts.Render(), categories.Render())
	return err
}

// Contract prints how often simulated users broke their contract, by rule; nothing where all users were scripted.
func Contract(w io.Writer, contract *results.UserContract) error {
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
		return "–"
	}
	return number(row.Result.GetSimilarity())
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
		return "message limit"
	case busv1.EndReason_END_REASON_CANCELLED:
		return "cancelled"
	case busv1.EndReason_END_REASON_MODEL_FAILURE:
		return "model failure: " + firstLine(end.GetDetail())
	case busv1.EndReason_END_REASON_INFRASTRUCTURE:
		return "not scored: " + firstLine(end.GetDetail())
	}
	if row.Result.GetMinefieldSimilarity() > 0 {
		return "stepped on a minefield"
	}
	return ""
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	const longest = 80
	if runes := []rune(line); len(runes) > longest {
		return string(runes[:longest-1]) + "…"
	}
	return line
}
