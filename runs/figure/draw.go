package figure

import (
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
)

// bins is the number of bars of a histogram.
const bins = 20

// groupsOf returns the groups of a run that belong into a figure.
func groupsOf(report *analysis.Report, run int, wants func(analysis.Group) bool) []analysis.Group {
	var groups []analysis.Group
	for _, g := range report.Groups {
		if g.Run == run && g.Score.Mean != nil && wants(g) {
			groups = append(groups, g)
		}
	}
	return groups
}

func ofAllVariants(g analysis.Group) bool { return g.Variant == analysis.AllVariants }

// names returns the different names of groups in the order of their first occurrence, from the
// bottom of an axis up.
func names(report *analysis.Report, wants func(analysis.Group) bool, name func(analysis.Group) string) []string {
	var all []string
	for run := range report.Runs {
		for _, g := range groupsOf(report, run, wants) {
			if !slices.Contains(all, name(g)) {
				all = append(all, name(g))
			}
		}
	}
	slices.Reverse(all)
	return all
}

func category(g analysis.Group) string { return g.Category }
func variant(g analysis.Group) string  { return g.Variant }

// categories draws the mean score of each category with its interval.
func categories(report *analysis.Report) (*picture, error) {
	p := newPlot("Scores by category", "mean score, 95 % interval", "")
	rows := names(report, ofAllVariants, category)
	if len(rows) == 0 {
		return nil, nil
	}
	step := 0.8 / float64(len(report.Runs))
	for run := range report.Runs {
		var bars plotter.XYs
		var spans plotter.XErrors
		for _, g := range groupsOf(report, run, ofAllVariants) {
			at := float64(slices.Index(rows, g.Category)) + 0.4 - step*(float64(run)+0.5)
			bars = append(bars, plotter.XY{X: *g.Score.Mean, Y: at})
			low, high := *g.Score.Mean, *g.Score.Mean
			if g.Score.Interval != nil {
				low, high = g.Score.Interval.Low, g.Score.Interval.High
			}
			spans = append(spans, struct{ Low, High float64 }{*g.Score.Mean - low, high - *g.Score.Mean})
		}
		for _, bar := range bars {
			area, err := plotter.NewPolygon(plotter.XYs{{X: 0, Y: bar.Y - step*0.42}, {X: bar.X, Y: bar.Y - step*0.42}, {X: bar.X, Y: bar.Y + step*0.42}, {X: 0, Y: bar.Y + step*0.42}})
			if err != nil {
				return nil, err
			}
			area.Color, area.LineStyle.Width = colorOf(run), 0
			p.Add(area)
		}
		whiskers, err := plotter.NewXErrorBars(struct {
			plotter.XYs
			plotter.XErrors
		}{bars, spans})
		if err != nil {
			return nil, err
		}
		p.Add(whiskers)
		if err := addLegend(p, report, run); err != nil {
			return nil, err
		}
	}
	if err := addFloors(p, report, rows); err != nil {
		return nil, err
	}
	setRows(p, report, rows)
	p.X.Min, p.X.Max = 0, 1
	return &picture{p, 20 * vg.Centimeter, vg.Length(3+0.5*float64(len(rows))*math.Max(1, 0.6*float64(len(report.Runs)))) * vg.Centimeter}, nil
}

// setRows names the rows of a plot, with room for the legend above them.
func setRows(p *plot.Plot, report *analysis.Report, rows []string) {
	p.NominalY(words(rows)...)
	p.Y.Min, p.Y.Max = -0.6, float64(len(rows))-0.4
	entries := 0
	if floors := len(floorsOf(report)); floors > 0 {
		entries += floors + 1
	}
	if len(report.Runs) > 1 {
		entries += len(report.Runs)
	}
	p.Y.Max += 0.6 * float64(entries)
}

// words returns the names of categories or variants in words, with a margin.
func words(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = margin + strings.ToLower(strings.ReplaceAll(name, "_", " "))
	}
	return all
}

// margin keeps the names of rows from the edge of the picture.
const margin = "  "

// addLegend adds a run to the legend, if there are several.
func addLegend(p *plot.Plot, report *analysis.Report, run int) error {
	if len(report.Runs) == 1 {
		p.Title.Text += ": " + label(report, run)
		return nil
	}
	sign, err := plotter.NewScatter(plotter.XYs{{}})
	if err != nil {
		return err
	}
	sign.GlyphStyle = draw.GlyphStyle{Color: colorOf(run), Radius: vg.Points(4), Shape: draw.BoxGlyph{}}
	p.Legend.Add(label(report, run), sign)
	return nil
}

// histogram draws how many rollouts have which score.
func histogram(report *analysis.Report) (*picture, error) {
	p := newPlot("Rollouts by score", "score", "share of rollouts")
	for run, of := range report.Runs {
		counts, all := make([]float64, bins), 0.0
		for _, s := range of.Scores() {
			counts[min(int(s.Score*bins), bins-1)]++
			all++
		}
		if all == 0 {
			continue
		}
		steps := make(plotter.XYs, 0, 2*bins)
		for bin, count := range counts {
			steps = append(steps, plotter.XY{X: float64(bin) / bins, Y: count / all}, plotter.XY{X: float64(bin+1) / bins, Y: count / all})
		}
		line, err := plotter.NewLine(steps)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = colorOf(run), vg.Points(1.5)
		p.Add(line)
		if err := addLegend(p, report, run); err != nil {
			return nil, err
		}
	}
	p.X.Min, p.X.Max, p.Y.Min = 0, 1, 0
	return &picture{p, 16 * vg.Centimeter, 9 * vg.Centimeter}, nil
}

// strips draws a point for each rollout in its categories.
func strips(report *analysis.Report) (*picture, error) {
	p := newPlot("Each rollout by category", "score", "")
	rows := names(report, ofAllVariants, category)
	if len(rows) == 0 {
		return nil, nil
	}
	step := 0.8 / float64(len(report.Runs))
	for run, of := range report.Runs {
		var points plotter.XYs
		for _, s := range of.Scores() {
			for _, c := range s.Categories {
				at := float64(slices.Index(rows, c)) + 0.4 - step*(float64(run)+0.5)
				points = append(points, plotter.XY{X: s.Score, Y: at + step*0.8*scatter(s.Rollout+c)})
			}
		}
		if len(points) == 0 {
			continue
		}
		dots, err := plotter.NewScatter(points)
		if err != nil {
			return nil, err
		}
		dots.GlyphStyle = draw.GlyphStyle{Color: colorOf(run), Radius: vg.Points(1.2), Shape: draw.CircleGlyph{}}
		p.Add(dots)
		if err := addLegend(p, report, run); err != nil {
			return nil, err
		}
	}
	if err := addFloors(p, report, rows); err != nil {
		return nil, err
	}
	setRows(p, report, rows)
	p.X.Min, p.X.Max = -0.02, 1.02
	return &picture{p, 20 * vg.Centimeter, vg.Length(3+0.8*float64(len(rows))) * vg.Centimeter}, nil
}

// scatter returns a number from −0.5 to 0.5 that depends on a name alone.
func scatter(name string) float64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	return float64(h.Sum32())/math.MaxUint32 - 0.5
}

// costs draws the mean score of each run against its cost, nil if fewer than two know it.
func costs(report *analysis.Report) (*picture, error) {
	p := newPlot("Score against cost", "US dollars a rollout", "mean score")
	known := 0
	for run := range report.Runs {
		for _, g := range groupsOf(report, run, func(g analysis.Group) bool {
			return ofAllVariants(g) && g.Category == resultfile.AllCategories && g.Effort.CostUSD != nil
		}) {
			dot, err := plotter.NewScatter(plotter.XYs{{X: *g.Effort.CostUSD, Y: *g.Score.Mean}})
			if err != nil {
				return nil, err
			}
			dot.GlyphStyle = draw.GlyphStyle{Color: colorOf(run), Radius: vg.Points(4), Shape: draw.CircleGlyph{}}
			p.Add(dot)
			if err := addLegend(p, report, run); err != nil {
				return nil, err
			}
			known++
		}
	}
	if known < 2 {
		return nil, nil
	}
	p.X.Min, p.Y.Min, p.Y.Max = 0, 0, 1
	for _, f := range floorsOf(report) {
		line, err := f.line(plotter.XYs{{X: 0, Y: f.scores[resultfile.AllCategories]}, {X: p.X.Max, Y: f.scores[resultfile.AllCategories]}})
		if err != nil {
			return nil, err
		}
		p.Add(line)
		p.Legend.Add(f.name, line)
	}
	return &picture{p, 16 * vg.Centimeter, 9 * vg.Centimeter}, nil
}
