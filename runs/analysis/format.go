package analysis

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

const (
	formatText     = "text"
	formatMarkdown = "markdown"
	formatLaTeX    = "latex"
	formatCSV      = "csv"
)

// Formats are the formats of a report. A comparison has all but the last, CSV.
var Formats = []string{formatText, formatMarkdown, formatLaTeX, formatCSV}

// checkFormat returns an error of usage for another format than those.
func checkFormat(format string, formats []string) error {
	if !slices.Contains(formats, format) {
		return process.UsageErrorf("--format: %q given, expected one of %s", format, strings.Join(formats, ", "))
	}
	return nil
}

// section is a part of a text: a table below its title, or lines.
type section struct {
	title string
	table *output.Table // nil without one
	notes []string
}

// writeSections writes sections as text as wide as w, Markdown or LaTeX.
func writeSections(w io.Writer, format string, sections []section) error {
	var out strings.Builder
	for i, s := range sections {
		if i > 0 {
			out.WriteString("\n")
		}
		switch format {
		case formatMarkdown:
			s.markdown(&out)
		case formatLaTeX:
			s.latex(&out)
		default:
			s.text(&out, output.Width(w))
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (s section) text(out *strings.Builder, width int) {
	if s.title != "" {
		fmt.Fprintln(out, s.title)
	}
	if s.table != nil {
		fmt.Fprintln(out, s.table.Fit(width))
	}
	for _, note := range s.notes {
		fmt.Fprintln(out, note)
	}
}

func (s section) markdown(out *strings.Builder) {
	if s.title != "" {
		fmt.Fprintf(out, "**%s**\n\n", s.title)
	}
	if s.table != nil {
		fmt.Fprintln(out, s.table.Markdown())
	}
	for i, note := range s.notes {
		if i == 0 && s.table != nil {
			out.WriteString("\n")
		}
		fmt.Fprintf(out, "- %s\n", output.Line(note))
	}
}

func (s section) latex(out *strings.Builder) {
	if s.title != "" {
		fmt.Fprintf(out, "%% %s\n", s.title)
	}
	if s.table != nil {
		fmt.Fprintln(out, s.table.LaTeX())
	}
	for _, note := range s.notes {
		fmt.Fprintf(out, "%% %s\n", output.Line(note)) // a second line would be no comment
	}
}

// csvColumns are the columns of a report as CSV.
var csvColumns = []struct {
	name string
	cell func(*Report, Group) string
}{
	{"directory", func(r *Report, g Group) string { return r.Runs[g.Run].Directory }},
	{"agent", func(_ *Report, g Group) string { return g.Agent }},
	{"user", func(_ *Report, g Group) string { return g.User }},
	{"category", func(_ *Report, g Group) string { return g.Category }},
	{"variant", func(_ *Report, g Group) string { return g.Variant }},
	{"rollouts", func(_ *Report, g Group) string { return strconv.Itoa(g.Rollouts) }},
	{"scored", func(_ *Report, g Group) string { return strconv.Itoa(g.Scored) }},
	{"base_scenarios", func(_ *Report, g Group) string { return strconv.Itoa(g.Scenarios) }},
	{"score", func(_ *Report, g Group) string { return exact(g.Score.Mean) }},
	{"standard_error", func(_ *Report, g Group) string { return exact(g.Score.StandardError) }},
	{"low", func(_ *Report, g Group) string { return bound(g.Score, false) }},
	{"high", func(_ *Report, g Group) string { return bound(g.Score, true) }},
	{"trial_deviation", func(_ *Report, g Group) string { return exact(g.TrialDeviation) }},
	{"scenario_share", func(_ *Report, g Group) string { return exact(g.ScenarioShare) }},
	{"turns", func(_ *Report, g Group) string { return exact(g.Effort.Turns) }},
	{"calls", func(_ *Report, g Group) string { return exact(g.Effort.Calls) }},
	{"seconds", func(_ *Report, g Group) string { return exact(g.Effort.Seconds) }},
	{"input_tokens", func(_ *Report, g Group) string { return exact(g.Effort.InputTokens) }},
	{"output_tokens", func(_ *Report, g Group) string { return exact(g.Effort.OutputTokens) }},
	{"cost_usd", func(_ *Report, g Group) string { return exact(g.Effort.CostUSD) }},
	{"user_flagged", func(_ *Report, g Group) string { return exact(g.UserFlagged) }},
	{"floor_idle", floorCell(func(f *results.CategoryFloors) *results.Floor { return &f.Idle })},
	{"floor_random", floorCell(func(f *results.CategoryFloors) *results.Floor { return &f.Random })},
	{"oracle", floorCell(func(f *results.CategoryFloors) *results.Floor { return f.Oracle })},
}

// floorCell returns a function that writes a floor, "" if it is unknown.
func floorCell(of func(*results.CategoryFloors) *results.Floor) func(*Report, Group) string {
	return func(_ *Report, g Group) string {
		if g.Floors == nil || of(g.Floors) == nil {
			return ""
		}
		return exact(&of(g.Floors).Mean)
	}
}

// writeCSV writes a line for each group, with the rates of passes at the end.
func (r *Report) writeCSV(w io.Writer) error {
	most := 0
	for _, g := range r.Groups {
		most = max(most, len(g.Passes))
	}
	var header []string
	for _, column := range csvColumns {
		header = append(header, column.name)
	}
	for k := 1; k <= most; k++ {
		header = append(header, fmt.Sprintf("pass_any_%d", k), fmt.Sprintf("pass_all_%d", k))
	}
	lines := [][]string{header}
	for _, g := range r.Groups {
		var line []string
		for _, column := range csvColumns {
			line = append(line, column.cell(r, g))
		}
		for k := range most {
			if k < len(g.Passes) {
				line = append(line, exact(g.Passes[k].Any.Mean), exact(g.Passes[k].All.Mean))
			} else {
				line = append(line, "", "")
			}
		}
		lines = append(lines, line)
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// exact formats a number with all its digits, "" without one.
func exact(value *float64) string {
	if value == nil {
		return ""
	}
	return strconv.FormatFloat(*value, 'g', -1, 64)
}

func bound(e Estimate, high bool) string {
	switch {
	case e.Interval == nil:
		return ""
	case high:
		return exact(&e.Interval.High)
	}
	return exact(&e.Interval.Low)
}

// Write writes the report in one of Formats, or its cards if it has them.
func (r *Report) Write(w io.Writer, format string) error {
	if err := checkFormat(format, Formats); err != nil {
		return err
	}
	switch {
	case format == formatCSV && r.Cards != nil:
		return csv.NewWriter(w).WriteAll(r.cardCSV())
	case format == formatCSV:
		return r.writeCSV(w)
	case r.Cards != nil:
		return writeSections(w, format, r.cardSections())
	default:
		return writeSections(w, format, r.sections())
	}
}
