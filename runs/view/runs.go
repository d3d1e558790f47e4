package view

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/figure"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// runsBody is the content of the first page: the report of the runs.
type runsBody struct {
	Runs       []runCard
	PassAt     float64
	Categories []scoreRow
	Variants   []scoreRow
	Passes     []passRow
	Causes     []causeRow
	Small      bool
	// Costs is the picture of scores against costs, empty without.
	Costs template.URL
	// Computing: the report is not complete yet.
	Computing bool
}

// runCard describes a run.
type runCard struct {
	*run
	Whole    analysis.Group
	Bar      bar
	Path     string
	Unscored []fact
	Ended    string
	Record   *results.Run
}

// scoreRow is the scores of a group in each run.
type scoreRow struct {
	Name  string
	Cells []scoreCell
}

// scoreCell is the score of a group in a run.
type scoreCell struct {
	Letter   string
	Group    analysis.Group
	Interval string
	Bar      bar
	// Path is the table of its rollouts, the lowest score first.
	Path string
}

// bar is a mean with its interval and the floors, from 0 to 100.
type bar struct {
	Mean, Low, High float64
	Interval        bool
	Floors          []float64
	Text            string
}

// passRow is the rates of passes of k trials in a run.
type passRow struct {
	Letter string
	analysis.PassRate
	AnyInterval, AllInterval string
}

// causeRow is a cause with what it counts in a run.
type causeRow struct {
	Letter string
	results.CauseCount
	Sentence, Path string
}

func newBar(e analysis.Estimate, floors *results.Floors) bar {
	b := bar{Text: "no score"}
	if e.Mean == nil {
		return b
	}
	b.Mean, b.Text = 100**e.Mean, fmt.Sprintf("mean %.3f", *e.Mean)
	if e.Interval != nil {
		b.Interval, b.Low, b.High = true, 100*e.Interval.Low, 100*e.Interval.High
		b.Text += ", 95 % interval " + e.IntervalText()
	}
	if floors != nil {
		b.Floors = []float64{100 * floors.Idle.Mean, 100 * floors.Random.Mean}
	}
	return b
}

// tablePath is the table of rollouts in a state.
func tablePath(pairs ...string) string {
	state := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			state.Set(pairs[i], pairs[i+1])
		}
	}
	return "rollouts.html?" + state.Encode()
}

// reportWait is how long the first page of a site waits for the report.
const reportWait = 150 * time.Millisecond

func (v *Viewer) runsPage(ctx context.Context, p *page) error {
	waiting := ctx
	if !p.Static {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, reportWait)
		defer cancel()
	}
	report, err := v.report(waiting)
	body := &runsBody{PassAt: passAt, Computing: err != nil}
	switch {
	case ctx.Err() != nil || err != nil && waiting.Err() == nil:
		return cmp.Or(ctx.Err(), err)
	case err != nil:
		p.Version = v.version
		report = v.brief()
	}
	svg, err := figure.Costs(report)
	if err != nil {
		return err
	}
	if svg != nil {
		body.Costs = template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg)) // our own picture
	}
	for i, r := range v.runs {
		whole, _ := report.Whole(i)
		card := runCard{run: r, Whole: whole, Bar: newBar(whole.Score, r.Floors), Path: tablePath("run", r.Letter, "sort", "score"), Record: r.Record()}
		for _, class := range slices.Sorted(maps.Keys(whole.Unscored)) {
			card.Unscored = append(card.Unscored, fact{class, fmt.Sprint(whole.Unscored[class])})
		}
		if card.Record != nil && card.Record.Ended != nil {
			card.Ended = card.Record.Ended.UTC().Format("2006-01-02 15:04 UTC")
		}
		body.Runs = append(body.Runs, card)
		for _, rate := range whole.Passes {
			body.Passes = append(body.Passes, passRow{r.Letter, rate, rate.Any.IntervalText(), rate.All.IntervalText()})
		}
		body.Causes = append(body.Causes, causeRows(r, card.Record, p.Static)...)
	}
	body.Categories = v.scoreRows(report, func(g analysis.Group) string {
		if g.Variant != analysis.AllVariants {
			return ""
		}
		return g.Category
	}, "category")
	body.Variants = v.scoreRows(report, func(g analysis.Group) string {
		if g.Variant == analysis.AllVariants || g.Category != resultfile.AllCategories {
			return ""
		}
		return g.Variant
	}, "variant")
	body.Small = slices.ContainsFunc(report.Groups, func(g analysis.Group) bool { return g.Score.Small })
	p.template, p.Title, p.Section, p.Body = "runs", "Runs", "runs", body
	return nil
}

// brief is a report with the counts and the means of the runs alone, until the intervals are known.
func (v *Viewer) brief() *analysis.Report {
	brief := &analysis.Report{PassAt: passAt}
	for i, r := range v.runs {
		group := analysis.Group{Run: i, Category: resultfile.AllCategories, Variant: analysis.AllVariants, Rollouts: len(r.rollouts)}
		sum := 0.0
		for at := range r.rollouts {
			if score := r.rollouts[at].Score; score != nil {
				group.Scored++
				sum += *score
			}
		}
		if group.Scored > 0 {
			mean := sum / float64(group.Scored)
			group.Score.Mean = &mean
		}
		brief.Groups = append(brief.Groups, group)
	}
	return brief
}

// scoreRows returns the groups with a name, by it; all scenarios come first.
func (v *Viewer) scoreRows(report *analysis.Report, name func(analysis.Group) string, filter string) []scoreRow {
	cells := make(map[string][]scoreCell)
	for _, g := range report.Groups {
		key := name(g)
		if key == "" {
			continue
		}
		r := v.runs[g.Run]
		cells[key] = append(cells[key], scoreCell{r.Letter, g, g.Score.IntervalText(), newBar(g.Score, nil), tablePath("run", r.Letter, filter, key, "sort", "score")})
	}
	var rows []scoreRow
	for _, key := range slices.SortedFunc(maps.Keys(cells), func(a, b string) int {
		return cmp.Or(cmp.Compare(order01(a != resultfile.AllCategories), order01(b != resultfile.AllCategories)), cmp.Compare(a, b))
	}) {
		rows = append(rows, scoreRow{key, cells[key]})
	}
	return rows
}

// causeRows are the counted causes of a run. An exported table has no details to find a class in.
func causeRows(r *run, record *results.Run, static bool) []causeRow {
	if record == nil || record.Totals == nil || record.Totals.CauseCounts == nil {
		return nil
	}
	var rows []causeRow
	for _, count := range record.Totals.CauseCounts.Causes {
		class := count.Class
		if static {
			class = ""
		}
		path := tablePath("run", r.Letter, "cause", count.Kind, "q", class, "sort", "score")
		rows = append(rows, causeRow{r.Letter, count, results.Cause{Kind: count.Kind}.Sentence(), path})
	}
	return rows
}
