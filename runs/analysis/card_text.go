package analysis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/toolsandbox/toolsandbox/runs/output"
)

// cardSections returns the cards for people.
func (r *Report) cardSections() []section {
	t := output.NewNumbers(table.Row{"metric", "run", "value", "95 % interval", "n", "base"})
	type reason struct{ metric, why string }
	var reasons []reason
	runs := make(map[reason][]string) // without a value
	for at := range r.Cards[0].Metrics {
		for _, card := range r.Cards {
			m := card.Metrics[at]
			if m.Value == nil {
				r := reason{m.title, m.NotMeasurable}
				if runs[r] == nil {
					reasons = append(reasons, r)
				}
				runs[r] = append(runs[r], Letter(card.Run))
				t.Append(table.Row{m.title, Letter(card.Run), missing, missing, missing, missing})
				continue
			}
			t.Append(table.Row{m.title, Letter(card.Run), rounded(m.Value), m.IntervalText(), m.counted(), m.Scenarios})
		}
	}
	notes := []string{
		"from 0 to 1, the most reliable; base: base scenarios, the clusters of intervals",
	}
	if slices.ContainsFunc(r.Cards, func(c Card) bool { return slices.ContainsFunc(c.Metrics, func(m Metric) bool { return m.Small }) }) {
		notes = append(notes, fmt.Sprintf("%s: fewer than %d base scenarios", small, fewScenarios))
	}
	sections := []section{{notes: r.runLines()}, {title: fmt.Sprintf("Reliability: passes have a score of %v or more", r.PassAt), table: t, notes: notes}}
	if len(reasons) > 0 {
		without := output.NewTable(table.Row{"not measurable", "run", "because"})
		for _, r := range reasons {
			without.Append(table.Row{r.metric, strings.Join(runs[r], ", "), r.why})
		}
		sections = append(sections, section{table: without})
	}
	return sections
}

// IntervalText is the interval for people.
func (m Metric) IntervalText() string {
	if m.Interval == nil {
		return missing
	}
	return Estimate{Mean: m.Value, Interval: m.Interval, Small: m.Small}.IntervalText()
}

// counted is what the metric counts, for people.
func (m Metric) counted() string {
	if m.Count == 1 {
		return "1 " + strings.TrimSuffix(m.Unit, "s")
	}
	return fmt.Sprintf("%d %s", m.Count, m.Unit)
}

// cardCSV returns a line for each metric of each run.
func (r *Report) cardCSV() [][]string {
	lines := [][]string{{"directory", "agent", "user", "metric", "value", "low", "high", "n", "unit", "base_scenarios", "not_measurable"}}
	for _, card := range r.Cards {
		for _, m := range card.Metrics {
			e := Estimate{Interval: m.Interval}
			lines = append(lines, []string{
				r.Runs[card.Run].Directory, card.Agent, card.User, m.Name, exact(m.Value), bound(e, false), bound(e, true),
				strconv.Itoa(m.Count), m.Unit, strconv.Itoa(m.Scenarios), m.NotMeasurable,
			})
		}
	}
	return lines
}
