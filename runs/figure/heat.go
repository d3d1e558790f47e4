package figure

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/toolsandbox/toolsandbox/runs/analysis"
)

// grid is the scores of the first run by variant and by category or tool.
type grid struct {
	columns, rows []string
	scores        map[[2]string]float64
}

// Dims implements plotter.GridXYZ.
func (g *grid) Dims() (c, r int) { return len(g.columns), len(g.rows) }

// Z implements plotter.GridXYZ.
func (g *grid) Z(c, r int) float64 {
	if score, ok := g.scores[[2]string{g.columns[c], g.rows[r]}]; ok {
		return score
	}
	return math.NaN()
}

// X implements plotter.GridXYZ.
func (g *grid) X(c int) float64 { return float64(c) }

// Y implements plotter.GridXYZ.
func (g *grid) Y(r int) float64 { return float64(r) }

// columnsOf returns the number of columns of a row that have a score.
func (g *grid) columnsOf(row string) int {
	known := 0
	for _, column := range g.columns {
		if _, ok := g.scores[[2]string{column, row}]; ok {
			known++
		}
	}
	return known
}

// labels returns the scores as texts in their cells.
func (g *grid) labels() (*plotter.Labels, error) {
	var all plotter.XYLabels
	for c := range g.columns {
		for r := range g.rows {
			if score := g.Z(c, r); !math.IsNaN(score) {
				all.XYs = append(all.XYs, plotter.XY{X: float64(c), Y: float64(r)})
				all.Labels = append(all.Labels, fmt.Sprintf("%.2f", score))
			}
		}
	}
	labels, err := plotter.NewLabels(all)
	if err != nil {
		return nil, err
	}
	for i := range labels.TextStyle {
		style := &labels.TextStyle[i]
		style.XAlign, style.YAlign, style.Font.Variant = draw.XCenter, draw.YCenter, "Sans"
	}
	return labels, nil
}

// variants draws the mean score of the first run by category and variant, nil without variants.
func variants(report *analysis.Report) (*picture, error) {
	ofVariant := func(g analysis.Group) bool { return g.Run == 0 && !ofAllVariants(g) }
	scores := &grid{columns: names(report, ofVariant, variant), rows: names(report, ofVariant, category), scores: make(map[[2]string]float64)}
	if len(scores.columns) < 2 {
		return nil, nil
	}
	slices.Reverse(scores.columns)
	for _, g := range groupsOf(report, 0, ofVariant) {
		scores.scores[[2]string{g.Variant, g.Category}] = *g.Score.Mean
	}
	// A category of one variant, such as THREE_DISTRACTION_TOOLS, says what its column says.
	scores.rows = slices.DeleteFunc(scores.rows, func(row string) bool { return scores.columnsOf(row) < 2 })
	return drawGrid("Scores by category and variant: "+label(report, 0), scores, words(scores.rows))
}

// tools draws the mean score of the rollouts of the first run in which the agent calls a tool, by
// tool and variant; nil without variants or trajectories.
func tools(ctx context.Context, report *analysis.Report) (*picture, error) {
	found, err := report.Runs[0].ToolScores(ctx)
	if err != nil {
		return nil, err
	}
	scores := &grid{scores: make(map[[2]string]float64)}
	for _, s := range found {
		scores.rows, scores.columns = append(scores.rows, s.Tool), append(scores.columns, s.Variant)
		scores.scores[[2]string{s.Variant, s.Tool}] = s.Mean
	}
	scores.rows = slices.Compact(scores.rows) // sorted
	slices.Reverse(scores.rows)
	slices.Sort(scores.columns)
	if scores.columns = slices.Compact(scores.columns); len(scores.columns) < 2 {
		return nil, nil
	}
	names := make([]string, len(scores.rows))
	for i, tool := range scores.rows {
		names[i] = margin + tool
	}
	return drawGrid("Scores where a tool is called, by variant: "+label(report, 0), scores, names)
}

// drawGrid draws scores as colours with their numbers.
func drawGrid(title string, scores *grid, rows []string) (*picture, error) {
	labels, err := scores.labels()
	if err != nil {
		return nil, err
	}
	p := newPlot(title, "", "")
	colors := moreland.SmoothBlueRed()
	colors.SetMin(0)
	colors.SetMax(1)
	heat := plotter.NewHeatMap(scores, colors.Palette(100))
	heat.Min, heat.Max = 0, 1
	p.Add(heat, labels)
	p.NominalX(words(scores.columns)...)
	p.NominalY(rows...)
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/5, draw.XRight, draw.YTop
	return &picture{p, 22 * vg.Centimeter, vg.Length(8+0.6*float64(len(rows))) * vg.Centimeter}, nil
}
