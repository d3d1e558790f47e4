package view

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/explain"
	"github.com/toolsandbox/toolsandbox/runs/output"
)

// compareBody is the content of the comparison of runs with the first one.
type compareBody struct {
	First   *run
	Changes []changeCard
	Moved   []movedRow
	Problem string
}

// changeCard is what changed to a run, over all scenarios and by category.
type changeCard struct {
	*run
	analysis.Change
	Whole      analysis.CategoryChange
	Categories []analysis.CategoryChange
}

// movedRow is a scenario whose score differs between runs.
type movedRow struct {
	Name, Path string
	Scores     []movedCell
	// Largest is the largest change from the first run.
	Largest float64
	Parting int // the first message that differs from the first run, -1 if unknown
	Nodes   []string
}

type movedCell struct{ Text, Class, Change string }

func (v *Viewer) comparePage(p *page) {
	p.template, p.Title, p.Section = "compare", "Compare", "compare"
	compared, err := v.comparison()
	body := &compareBody{First: v.runs[0]}
	p.Body = body
	if err != nil {
		body.Problem = err.Error()
	}
	if compared == nil {
		return
	}
	rows := make(map[string]*movedRow)
	for _, change := range compared.Others {
		at := slices.IndexFunc(v.runs, func(r *run) bool { return r.Run == change.Run })
		card := changeCard{run: v.runs[at], Change: change}
		for _, c := range change.Categories {
			if c.Name == resultfile.AllCategories {
				card.Whole = c
			} else {
				card.Categories = append(card.Categories, c)
			}
		}
		body.Changes = append(body.Changes, card)
		for _, moved := range change.Changed {
			row := rows[moved.Name]
			if row == nil {
				row = &movedRow{Name: moved.Name, Path: comparePath(moved.Name), Scores: make([]movedCell, len(v.runs)), Parting: -1}
				row.Scores[0] = movedCell{Text: explain.Number(moved.First), Class: scoreClass(moved.First)}
				rows[moved.Name] = row
			}
			row.Scores[at] = movedCell{explain.Number(moved.Second), scoreClass(moved.Second), output.Signed(moved.Change)}
			if math.Abs(moved.Change) > math.Abs(row.Largest) {
				row.Largest = moved.Change
			}
			if moved.Parting != nil && (row.Parting < 0 || moved.Parting.Message < row.Parting) {
				row.Parting = moved.Parting.Message
			}
			if len(v.runs) == 2 {
				for _, m := range moved.Milestones {
					row.Nodes = append(row.Nodes, fmt.Sprintf("%d: %s → %s", m.Milestone, explain.Number(m.First), explain.Number(m.Second)))
				}
			}
		}
	}
	for _, row := range rows {
		body.Moved = append(body.Moved, *row)
	}
	slices.SortFunc(body.Moved, func(a, b movedRow) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Largest), math.Abs(a.Largest)), cmp.Compare(a.Name, b.Name))
	})
}

// sideBody is the content of the page with the transcripts of a scenario side by side.
type sideBody struct {
	Scenario     string
	ScenarioPath string
	Columns      []sideColumn
	// Shared are the messages that all begin with, Parting the first that differs.
	Shared  []message
	Parting int
}

// sideColumn is the transcript of a run from where it differs.
type sideColumn struct {
	Letter, Agent, Name, Path, Score, Class string
	Messages                                []message
	Problem                                 string
	Left                                    int
}

func (v *Viewer) sidePage(ctx context.Context, p *page, name string) error {
	body := &sideBody{Scenario: name}
	var talks [][]*worldv1.Message
	var read []int
	for i, rollout := range v.scenarioRollouts(name) {
		if rollout == nil {
			continue
		}
		r := v.runs[i]
		if shown := v.shownScenario(*rollout); shown != "" {
			body.ScenarioPath = scenarioPath(shown)
		}
		column := sideColumn{Letter: r.Letter, Agent: r.Agent, Name: rollout.Name, Path: rolloutPath(r.Letter, rollout.Name), Score: "–", Class: "none"}
		if rollout.Score != nil {
			column.Score, column.Class = explain.Number(*rollout.Score), scoreClass(*rollout.Score)
		}
		trajectory, err := r.read(ctx, rollout.Name, nil)
		if err != nil {
			column.Problem = explainMissing(r.Directory, err)
		} else {
			talks, read = append(talks, trajectory.Messages), append(read, len(body.Columns))
		}
		body.Columns = append(body.Columns, column)
	}
	if len(body.Columns) == 0 {
		return errNoPage
	}
	if len(talks) > 0 {
		body.Parting = analysis.PartingAt(talks)
		for i, m := range talks[0][:min(body.Parting, len(talks[0]), transcriptPage)] {
			body.Shared = append(body.Shared, newMessage(i, m))
		}
	}
	for at, messages := range talks {
		column := &body.Columns[read[at]]
		for i := body.Parting; i < len(messages); i++ {
			if len(column.Messages) == transcriptPage {
				column.Left = len(messages) - i
				break
			}
			column.Messages = append(column.Messages, newMessage(i, messages[i]))
		}
	}
	p.template, p.Title, p.Section, p.Body = "side", name+": runs side by side", "compare", body
	p.Over = []link{{"compare", "compare.html"}}
	return nil
}
