package report

import (
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
)

// redrawInterval bounds how often the progress line of a terminal is drawn.
const redrawInterval = 50 * time.Millisecond

// linesWithoutTerminal is how many progress lines a log gets at most.
const linesWithoutTerminal = 20

// Progress shows how many rollouts are done: one line that is drawn again and again on a terminal, a few lines elsewhere.
// It is not safe for concurrent use.
type Progress struct {
	w        io.Writer
	terminal bool
	total    int
	done     int
	sum      float64
	scored   int
	began    time.Time
	drawn    time.Time
}

// NewProgress returns the progress of a run that shows itself on w.
func NewProgress(w io.Writer, total int) *Progress {
	_, terminal := terminal(w)
	return &Progress{w: w, terminal: terminal, total: total, began: time.Now()}
}

// Add counts a finished rollout.
func (p *Progress) Add(row Row) {
	p.done++
	if row.Scored() {
		p.scored++
		p.sum += row.Result.GetSimilarity()
	}
	switch {
	case p.terminal && (p.done == p.total || time.Since(p.drawn) >= redrawInterval):
		p.drawn = time.Now()
		_, _ = fmt.Fprintf(p.w, "\r%s%s", text.EraseLine.Sprint(), p.line(row.Name))
	case !p.terminal && p.done*min(linesWithoutTerminal, p.total)/p.total != (p.done-1)*min(linesWithoutTerminal, p.total)/p.total:
		_, _ = fmt.Fprintln(p.w, p.line(row.Name))
	}
}

// End leaves the progress line.
func (p *Progress) End() {
	if p.terminal && p.done > 0 {
		_, _ = fmt.Fprintln(p.w)
	}
}

func (p *Progress) line(last string) string {
	mean := "–"
	if p.scored > 0 {
		mean = fmt.Sprintf("%.3f", p.sum/float64(p.scored))
	}
	return fmt.Sprintf("%d/%d rollouts, mean score %s, %s: %s", p.done, p.total, mean, time.Since(p.began).Round(100*time.Millisecond), last)
}
