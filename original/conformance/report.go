package conformance

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	// excerptSize is the number of bytes in an excerpt around the first difference of two texts.
	excerptSize = 200
	// excerptLead is the number of those bytes before the difference.
	excerptLead = 60
	null        = "null"
)

// Difference is one difference from the original.
type Difference struct {
	// Line is the case's line in its file, from 1.
	Line int `json:"line"`
	// Field is the compared field, e.g. content.
	Field string `json:"field"`
	// Want is the original's value as text, Got that of the services.
	Want string `json:"want"`
	Got  string `json:"got"`
}

// MissingTool is a required tool that the tool host lacks.
type MissingTool struct {
	Tool string `json:"tool"`
	// Cases is the number of cases that failed for that reason.
	Cases int `json:"cases"`
}

// Report is the result of one file.
type Report struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
	// Cases is the number of cases. NotCompared counts cases whose original answer is missing or known
	// to be wrong, in part or completely. Differ counts failed cases.
	Cases       int `json:"cases"`
	NotCompared int `json:"not_compared"`
	Differ      int `json:"differ"`
	// NotRun is the reason for which the file was not run, empty if it was.
	NotRun string `json:"not_run,omitempty"`
	// Missing lists the missing tools by name.
	Missing []MissingTool `json:"missing_tools,omitempty"`
	// Differences lists the first differences by line.
	Differences []Difference `json:"differences,omitempty"`
}

// Passed returns the number of cases that did not fail.
func (r *Report) Passed() int { return r.Cases - r.Differ }

// WriteText writes a line for the file, then its differences.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	b.WriteString(r.Path + ": ")
	switch {
	case r.NotRun != "":
		b.WriteString("not run by this command: " + r.NotRun)
	default:
		fmt.Fprintf(&b, "%d cases, %d differ", r.Cases, r.Differ)
	}
	if r.NotCompared > 0 {
		fmt.Fprintf(&b, ", %d not compared", r.NotCompared)
	}
	for _, missing := range r.Missing {
		fmt.Fprintf(&b, "; tool %s is missing (%d)", missing.Tool, missing.Cases)
	}
	b.WriteByte('\n')
	for _, d := range r.Differences {
		want, got := excerpt(d.Want, d.Got)
		fmt.Fprintf(&b, "  line %d, %s\n    want %s\n    got  %s\n", d.Line, d.Field, want, got)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// excerpt returns the parts of two texts around their first difference, each on one line.
func excerpt(want, got string) (string, string) {
	if len(want) <= excerptSize && len(got) <= excerptSize {
		return oneLine(want), oneLine(got)
	}
	start := 0
	for start < len(want) && start < len(got) && want[start] == got[start] {
		start++
	}
	from := max(start-excerptLead, 0)
	for from > 0 && !utf8.RuneStart(want[from]) {
		from--
	}
	return oneLine(excerptPart(want, from)), oneLine(excerptPart(got, from))
}

func excerptPart(text string, from int) string {
	before, after := "", ""
	if from > 0 {
		before = "…"
	}
	end := len(text)
	if end > from+excerptSize {
		end = from + excerptSize
		for !utf8.RuneStart(text[end]) {
			end--
		}
		after = "…"
	}
	return before + text[from:end] + after
}

// oneLine escapes line breaks and other control characters.
func oneLine(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// runFile reads a file, runs its cases and fills the report.
func (r *Runner) runFile(ctx context.Context, path string, p fileRunner, report *Report) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches, outcomes := make(chan []line), make(chan []outcome)
	var workers sync.WaitGroup
	for range p.workers {
		workers.Go(func() {
			for batch := range batches {
				outcomes <- p.run(ctx, batch)
			}
		})
	}
	var readErr error
	var reader sync.WaitGroup
	reader.Go(func() {
		readErr = feed(ctx, path, p.batch, batches)
		close(batches)
		workers.Wait()
		close(outcomes)
	})
	missing := make(map[string]int)
	for done := range outcomes {
		for _, o := range done {
			r.count(report, o, missing)
		}
	}
	reader.Wait()
	for tool, cases := range missing {
		report.Missing = append(report.Missing, MissingTool{Tool: tool, Cases: cases})
	}
	slices.SortFunc(report.Missing, func(a, b MissingTool) int { return cmp.Compare(a.Tool, b.Tool) })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return readErr
}

// feed sends the lines of a file in batches until ctx is done.
func feed(ctx context.Context, path string, size int, batches chan<- []line) error {
	var batch []line
	send := func() bool {
		select {
		case batches <- batch:
			batch = nil
			return true
		case <-ctx.Done():
			return false
		}
	}
	err := eachLine(path, func(l line) bool {
		batch = append(batch, l)
		return len(batch) < size || send()
	})
	if err == nil && len(batch) > 0 {
		send()
	}
	return err
}

// count adds one case to a report.
func (r *Runner) count(report *Report, o outcome, missing map[string]int) {
	report.Cases++
	if o.unchecked && !o.failed() {
		report.NotCompared++
	}
	if !o.failed() {
		return
	}
	report.Differ++
	if o.missing != "" {
		missing[o.missing]++
		return
	}
	for _, d := range o.differences {
		d.Line = o.line
		report.Differences = append(report.Differences, d)
	}
	slices.SortStableFunc(report.Differences, func(a, b Difference) int { return cmp.Compare(a.Line, b.Line) })
	report.Differences = report.Differences[:min(len(report.Differences), r.cfg.MaxDifferences)]
}
