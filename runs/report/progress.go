package report

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
)

// redrawInterval is the minimum time between redraws of a terminal's progress line.
const redrawInterval = 50 * time.Millisecond

// linesWithoutTerminal is the most progress lines in a log.
const linesWithoutTerminal = 20

// Progress shows how far a run is: one line that is redrawn on a terminal, a few lines elsewhere.
// Safe for concurrent use.
type Progress struct {
	w        io.Writer
	terminal *output.Writer // nil if w is no terminal
	total    int

	mu sync.Mutex
	// before is the number of rollouts that earlier parts of the run finished: they took no time of
	// this one.
	before   int
	done     int
	sum      float64
	scored   int
	failed   int // and scored
	unscored int
	last     string // name of the last finished rollout
	began    time.Time
	drawn    time.Time
	counted  *orchestratorv1.SweepProgress // the last report, nil before
	wait     Wait
}

// NewProgress returns the progress of a run on w. before of the total rollouts are done.
func NewProgress(w io.Writer, total, before int) *Progress {
	return &Progress{w: w, terminal: output.OnTerminal(w), total: total, before: before, began: time.Now()}
}

// Report shows what the rollouts without a result do.
func (p *Progress) Report(progress *orchestratorv1.SweepProgress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal == nil {
		p.wait.Report(p.w, progress)
		return
	}
	if p.counted = nil; progress.GetCounted() {
		p.counted = proto.CloneOf(progress)
		p.redraw()
	}
}

// Add counts a finished rollout.
func (p *Progress) Add(row Row) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wait.Reset()
	p.done++
	p.last = row.Name
	switch now := p.counted; {
	case now.GetQueued() > 0:
		now.Queued-- // it takes the slot
	case now.GetRunning() > 0:
		now.Running--
		now.Limited = max(now.Limited-1, 0)
		now.Asked = min(now.Asked, now.Running)
	}
	switch {
	case !row.Scored():
		p.unscored++
	case row.Result.GetEnd().GetReason() == busv1.EndReason_END_REASON_MODEL_FAILURE:
		p.failed++
		p.scored++
	default:
		p.scored++
		p.sum += row.Result.GetSimilarity()
	}
	switch {
	case p.terminal != nil && (p.done == p.total || time.Since(p.drawn) >= redrawInterval):
		p.redraw()
	case p.terminal == nil && p.done*min(linesWithoutTerminal, p.total)/p.total != (p.done-1)*min(linesWithoutTerminal, p.total)/p.total:
		_, _ = fmt.Fprintln(p.w, p.line())
	}
}

// End terminates the progress line.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal != nil {
		_ = p.terminal.EndRedraw()
	}
}

// redraw draws the line on a terminal.
func (p *Progress) redraw() {
	p.drawn = time.Now()
	_ = p.terminal.Redraw(p.fit(p.line()))
}

// fit truncates a line to the width of the terminal, because a redraw covers one line.
func (p *Progress) fit(line string) string {
	if columns := output.Width(p.w); columns > 0 {
		return text.Snip(line, columns-1, "…")
	}
	return line
}

func (p *Progress) line() string {
	now := ""
	if p.counted != nil && p.done < p.total {
		now = counts(p.counted) + ", "
	}
	if p.done == 0 {
		return fmt.Sprintf("0/%d rollouts, %s%s", p.total, now, rounded(time.Since(p.began)))
	}
	mean := noScore
	if p.scored > 0 {
		mean = number(p.sum / float64(p.scored))
	}
	return fmt.Sprintf("%d/%d rollouts, %smean score %s, %d failed, %d not scored, %s: %s", p.done, p.total, now, mean, p.failed, p.unscored,
		p.pace(time.Since(p.began)), p.last)
}

// pace formats the elapsed and the remaining time.
func (p *Progress) pace(took time.Duration) string {
	played, remaining := p.done-p.before, p.total-p.done
	if played < 1 || took <= 0 {
		return "played before"
	}
	each := took / time.Duration(played)
	rate := fmt.Sprintf("%.1f/s", float64(time.Second)/float64(max(each, 1)))
	if each > time.Second {
		rate = fmt.Sprintf("%.1f/min", float64(time.Minute)/float64(each))
	}
	if remaining == 0 {
		return fmt.Sprintf("%s, took %s", rate, rounded(took))
	}
	return fmt.Sprintf("%s, about %s left", rate, rounded(each*time.Duration(remaining)))
}

// rounded rounds a duration for people.
func rounded(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}
