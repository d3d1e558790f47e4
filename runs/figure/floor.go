package figure

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// floor is what an agent without a model scores, by category.
type floor struct {
	name   string
	dashes []vg.Length
	scores map[string]float64
}

// floorsOf returns the floors of the first run that has some.
func floorsOf(report *analysis.Report) []floor {
	at := slices.IndexFunc(report.Runs, func(r *analysis.Run) bool { return r.Floors != nil })
	var all []floor
	for _, agent := range []struct {
		name   string
		dashes []vg.Length
		of     func(*results.CategoryFloors) *results.Floor
	}{
		{"idle agent", []vg.Length{vg.Points(1), vg.Points(2)}, func(f *results.CategoryFloors) *results.Floor { return &f.Idle }},
		{"random agent", []vg.Length{vg.Points(4), vg.Points(2)}, func(f *results.CategoryFloors) *results.Floor { return &f.Random }},
		{"oracle", nil, func(f *results.CategoryFloors) *results.Floor { return f.Oracle }},
	} {
		f := floor{name: agent.name, dashes: agent.dashes, scores: make(map[string]float64)}
		for _, g := range report.Groups {
			if g.Run != at || g.Floors == nil {
				continue
			}
			if score := agent.of(g.Floors); score != nil {
				f.scores[g.Category] = score.Mean
			}
		}
		if len(f.scores) > 0 {
			all = append(all, f)
		}
	}
	return all
}

// line returns a line of the floor.
func (f floor) line(points plotter.XYs) (*plotter.Line, error) {
	line, err := plotter.NewLine(points)
	if err != nil {
		return nil, err
	}
	line.Color, line.Width, line.Dashes = color.Gray{Y: 60}, vg.Points(1), f.dashes
	return line, nil
}

// addFloors draws the floors across the rows of their categories.
func addFloors(p *plot.Plot, report *analysis.Report, rows []string) error {
	const half = 0.42
	for _, f := range floorsOf(report) {
		var last *plotter.Line
		for at, row := range rows {
			score, ok := f.scores[row]
			if !ok {
				continue
			}
			line, err := f.line(plotter.XYs{{X: score, Y: float64(at) - half}, {X: score, Y: float64(at) + half}})
			if err != nil {
				return err
			}
			p.Add(line)
			last = line
		}
		if last != nil {
			p.Legend.Add(f.name, last)
		}
	}
	return nil
}
