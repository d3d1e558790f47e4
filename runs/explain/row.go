package explain

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
)

// changes prints the changes since the reference.
func (p *printer) changes(c *evaluatorv1.ConstraintExplanation) {
	schema, _ := p.schema.Table(c.GetTable())
	for _, change := range c.GetChanges() {
		switch {
		case change.GetBefore() == nil && change.GetAfter() == nil:
			p.line("the messages differ in %s", strings.Join(change.GetColumns(), ", "))
		case change.GetBefore() == nil:
			p.line("added %s", row(schema, change.GetAfter()))
		case change.GetAfter() == nil:
			p.line("removed %s", row(schema, change.GetBefore()))
		default:
			p.line("changed %s", row(schema, change.GetBefore()))
			p.inside(func() {
				for _, name := range change.GetColumns() {
					p.line("%s: before %s, after %s", name, Cell(schema, change.GetBefore(), name), Cell(schema, change.GetAfter(), name))
				}
			})
		}
	}
}

// row is a row as column=value, without nulls.
func row(schema world.Table, r *worldv1.Row) string {
	var cells []string
	for _, column := range schema.Columns {
		if text := Cell(schema, r, column.Name); text != "null" {
			cells = append(cells, column.Name+"="+text)
		}
	}
	return strings.Join(cells, " ")
}

// Cell is the cell of a row in a column, null without one.
func Cell(schema world.Table, r *worldv1.Row, name string) string {
	if i := schema.Column(name); i >= 0 && i < len(r.GetCells()) {
		return world.Literal(r.GetCells()[i])
	}
	return "null"
}

// rows prints the pairs of rows; a single one has no heading.
func (p *printer) rows(c *evaluatorv1.ConstraintExplanation) {
	schema, _ := p.schema.Table(c.GetTable())
	message := c.GetTable() == world.Sandbox
	for _, pair := range c.GetRows() {
		switch {
		case c.GetPackMeasure() != "" && pair.Wanted == nil:
			p.line("found %s", row(schema, pair.GetFound()))
			continue
		case c.GetPackMeasure() != "":
			p.line("wanted %s", wantedCells(pair))
			continue
		case pair.Wanted == nil:
			p.line("not wanted: %s", row(schema, pair.GetFound()))
			continue
		case !message && pair.GetFound() == nil:
			p.line("row %d is missing:", pair.GetWanted())
		case len(c.GetRows()) > 1:
			p.line("row %d: %s", pair.GetWanted(), p.score(pair.GetSimilarity()))
		default:
			p.cells(pair, true)
			continue
		}
		p.inside(func() { p.cells(pair, message || pair.GetFound() != nil) })
	}
}

// wantedCells is a wanted row as column=value.
func wantedCells(pair *evaluatorv1.RowExplanation) string {
	var cells []string
	for _, c := range pair.GetCells() {
		cells = append(cells, c.GetColumn()+"="+world.Literal(c.GetWanted()))
	}
	return strings.Join(cells, " ")
}

// cells prints pairs of cells; without a found row the wanted ones.
func (p *printer) cells(pair *evaluatorv1.RowExplanation, found bool) {
	for _, c := range pair.GetCells() {
		switch {
		case !found:
			p.line("%s: wanted %s", c.GetColumn(), world.Literal(c.GetWanted()))
		case c.GetTrace() != nil:
			p.trace(c)
		case c.GetText() != nil:
			p.rougeL(c)
		default:
			p.cell(c)
		}
	}
}

func (p *printer) cell(c *evaluatorv1.CellExplanation) {
	similarity := p.score(c.GetSimilarity())
	if c.GetNoResult() {
		similarity = "does not count"
	}
	p.line("%s %s (%s): wanted %s, found %s", c.GetColumn(), similarity, ColumnMeasure(c), world.Literal(c.GetWanted()), Found(c))
	if c.GetProblem() != "" {
		p.inside(func() { p.line("%s", c.GetProblem()) })
	}
}

// rougeL prints two texts below each other with the common words bold, and these words.
func (p *printer) rougeL(c *evaluatorv1.CellExplanation) {
	text := c.GetText()
	p.line("%s %s (%s): precision %s, recall %s", c.GetColumn(), p.score(c.GetSimilarity()), ColumnMeasure(c),
		Number(text.GetPrecision()), Number(text.GetRecall()))
	common := CommonWords(text)
	p.inside(func() {
		p.line("wanted  %s", below(p.mark(WantedParts(c))))
		p.line("found   %s", below(p.mark(FoundParts(c))))
		switch {
		case len(common) > 0:
			p.line("common  %s", strings.Join(common, " "))
		case text.GetPrecision() > 0:
			p.line("common  too many words to list")
		default:
			p.line("common  nothing")
		}
	})
}

// below indents the lines after the first.
func below(text string) string { return strings.ReplaceAll(text, "\n", "\n        ") }

// mark formats the common parts of a text bold.
func (p *printer) mark(parts []Part) string {
	var out strings.Builder
	for _, part := range parts {
		if part.Common {
			out.WriteString(p.bold(part.Text))
		} else {
			out.WriteString(part.Text)
		}
	}
	return out.String()
}

// trace prints the accepted call and the nearest call of the agent.
func (p *printer) trace(c *evaluatorv1.CellExplanation) {
	trace := c.GetTrace()
	headline := fmt.Sprintf("%s %s (%s): wanted %s", c.GetColumn(), p.score(c.GetSimilarity()), ColumnMeasure(c), trace.GetTool())
	switch trace.GetFoundTool() {
	case trace.GetTool():
		p.line("%s, found it", headline)
	case "":
		p.line("%s, found no call that succeeded", headline)
	default:
		p.line("%s, found %s", headline, trace.GetFoundTool())
	}
	p.inside(func() {
		for _, argument := range trace.GetArguments() {
			p.argument(argument)
		}
	})
}

func (p *printer) argument(a *evaluatorv1.ArgumentComparison) {
	found := "not given"
	if a.FoundJson != nil {
		found = "found " + a.GetFoundJson()
	}
	tolerance := ""
	if a.Tolerance != nil {
		tolerance = " ± " + strconv.FormatFloat(a.GetTolerance(), 'g', -1, 64)
	}
	verdict := p.paint(output.Green, "fits")
	if !a.GetMatches() {
		verdict = p.paint(output.Red, "differs")
	}
	p.line("%s %s: wanted %s%s, %s", a.GetName(), verdict, a.GetWantedJson(), tolerance, found)
}
