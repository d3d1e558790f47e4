// Package figure draws the scores of runs as SVG and PNG.
package figure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/color"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"

	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// palette has a colour for each run that people who see few colours tell apart, by Okabe and Ito.
var palette = []color.Color{
	color.NRGBA{0, 114, 178, 255}, color.NRGBA{230, 159, 0, 255}, color.NRGBA{0, 158, 115, 255}, color.NRGBA{204, 121, 167, 255},
	color.NRGBA{86, 180, 233, 255}, color.NRGBA{213, 94, 0, 255}, color.NRGBA{120, 120, 120, 255}, color.NRGBA{0, 0, 0, 255},
}

func colorOf(run int) color.Color { return palette[run%len(palette)] }

// picture is a figure with its size.
type picture struct {
	plot          *plot.Plot
	width, height vg.Length
}

// Draw writes the figures of a report and prints their paths. It does nothing without a directory.
func Draw(ctx context.Context, w io.Writer, dir string, report *analysis.Report) error {
	if dir == "" {
		return nil
	}
	paths, err := Write(ctx, dir, report)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if _, err := fmt.Fprintf(w, "figure: %s\n", path); err != nil {
			return err
		}
	}
	return nil
}

// Write draws the figures of a report into a directory, which it creates, and returns their paths.
// Those for which the runs have no data are missing: costs without prices, variants without any,
// and tools without trajectories. It removes such figures of an earlier report. The end of ctx ends
// the reading of trajectories, with its error.
func Write(ctx context.Context, dir string, report *analysis.Report) ([]string, error) {
	if storage.IsBucket(dir) {
		return nil, fmt.Errorf("--plots: %s is %w: it is in a bucket", dir, storage.ErrNoDirectory)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("--plots: %w", err)
	}
	var paths []string
	ofTools := func(report *analysis.Report) (*picture, error) { return tools(ctx, report) }
	for _, figure := range []struct {
		name string
		draw func(*analysis.Report) (*picture, error)
	}{
		{"categories", categories}, {"histogram", histogram}, {"strips", strips}, {"costs", costs}, {"variants", variants}, {"tools", ofTools},
	} {
		p, err := figure.draw(report)
		if err != nil {
			return nil, fmt.Errorf("draw: %w", err)
		}
		for _, ending := range []string{".svg", ".png"} {
			path := filepath.Join(dir, figure.name+ending)
			if p == nil {
				err = os.Remove(path)
			} else if err = p.plot.Save(p.width, p.height, path); err == nil {
				paths = append(paths, path)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("draw %s: %w", path, err)
			}
		}
	}
	return paths, nil
}

// Costs returns the mean score of each run against its cost as SVG, nil if fewer than two runs know
// it.
func Costs(report *analysis.Report) ([]byte, error) {
	p, err := costs(report)
	if err != nil || p == nil {
		return nil, err
	}
	drawn, err := p.plot.WriterTo(p.width, p.height, "svg")
	if err != nil {
		return nil, fmt.Errorf("draw: %w", err)
	}
	var svg bytes.Buffer
	if _, err := drawn.WriteTo(&svg); err != nil {
		return nil, fmt.Errorf("draw: %w", err)
	}
	return svg.Bytes(), nil
}

// newPlot returns an empty plot with titles.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	for _, style := range []*font.Font{
		&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.Legend.TextStyle.Font,
	} {
		style.Typeface, style.Variant = "Liberation", "Sans"
	}
	p.Title.Padding = vg.Points(8)
	p.Legend.Top = true
	return p
}

// label names a run in a legend.
func label(report *analysis.Report, run int) string {
	r := report.Runs[run]
	if r.Agent == "" {
		return r.Directory
	}
	for i, other := range report.Runs {
		if i != run && other.Agent == r.Agent {
			return r.Agent + " (" + r.Directory + ")"
		}
	}
	return r.Agent
}
