package view

import (
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/explain"
)

// foldWords is the number of bytes beyond which a compared value is folded.
const foldWords = 300

// node is the card of a milestone or a minefield, below the message of its match.
type node struct {
	ID, Kind, Title string
	Score           float64
	// Class is the class of its score. A minefield is good if it is not triggered.
	Class string
	// State says what happened, Message where, -1 if nowhere.
	State   string
	Message int
	Open    bool
	Places  []place
}

// place is a node compared with a message.
type place struct {
	// Lead introduces a place that is not the match, Obstacles say why it is not.
	Lead      string
	Message   int
	Obstacles []string
	Rules     []rule
	// Held are the guarded tables that did not change.
	Held []string
	// Advice says what an author can write.
	Advice string
}

// rule is a constraint at a message.
type rule struct {
	Score          float64
	Table, Measure string
	// Since names the reference, SinceMessage is its message, -1 without one.
	Since        string
	SinceMessage int
	// Changed is the message that stored the compared version of the table, -1 if that is where the
	// constraint is compared, or for the starting version.
	Changed   int
	Problem   string
	Extracted []argument
	Changes   *change
	// Differs are the columns in which two messages differ.
	Differs []string
	Rows    []pair
}

// pair is a pair of rows.
type pair struct {
	// Title names the row among several.
	Title string
	Score *float64
	// Row is a row that is shown as it is.
	Row   *row
	Cells []cell
}

// cell is a pair of cells.
type cell struct {
	Column, Measure string
	Score           float64
	// State is what stands for the score.
	State         string
	Wanted, Found words
	Note          string
}

// words is a wanted or found value, with the words that both have.
type words struct {
	Parts []explain.Part
	// Fold and Cut are as those of a text.
	Fold string
	Cut  int
}

// newWords shows a value.
func newWords(parts []explain.Part) words {
	var all strings.Builder
	for _, part := range parts {
		all.WriteString(part.Text)
	}
	whole := newText(all.String(), foldWords)
	shown := words{Fold: whole.Fold, Cut: whole.Cut}
	for left := len(whole.All); left > 0; parts = parts[1:] {
		part := explain.Part{Text: spelling.Beginning(parts[0].Text, left), Common: parts[0].Common}
		left -= len(parts[0].Text)
		shown.Parts = append(shown.Parts, part)
	}
	return shown
}

// nodes makes the cards of an explanation.
type nodes struct {
	report *explain.Report
	schema *world.Schema
}

// graph returns the cards of a graph. at is the message below which a card stands, -1 for none.
func (n nodes) graph(kind string, graph *evaluationv1.Graph, explanations []*evaluatorv1.NodeExplanation) []node {
	var cards []node
	for _, e := range explanations {
		card := node{
			ID: fmt.Sprintf("%s-%d", kind, e.GetNode()), Kind: kind, Title: explain.Title(e.GetNode(), e.GetName()), Message: -1,
			Score: e.GetMatch().GetSimilarity(), Class: scoreClass(e.GetMatch().GetSimilarity()),
		}
		minefield := kind == "minefield"
		if minefield {
			card.Class = map[bool]string{true: "s1", false: "s0"}[card.Score == 0]
		}
		card.Open = card.Class != "s1"
		disabled, broken := explain.DisablingGuardrails(e)
		switch match := e.GetMatch(); {
		case minefield && card.Score == 0 && disabled != nil:
			card.State, card.Message = "not triggered", int(disabled.GetIndex())
			p := n.place(graph, disabled)
			p.Lead, p.Advice = "its constraints hold here, but automatic guardrails disable it", explain.ExcludeTables(broken)
			card.Places = append(card.Places, p)
		case minefield && card.Score == 0:
			card.State = "not triggered"
		case match == nil:
			card.State = "never matched"
		default:
			card.Message = int(match.GetIndex())
			card.Places = append(card.Places, n.place(graph, match))
		}
		if best := e.GetBest(); best != nil && !(minefield && card.Score == 0) {
			p := n.place(graph, best)
			p.Lead = "nearest at"
			if best.GetSimilarity() > 0 {
				p.Lead = "alone it would be " + explain.Number(best.GetSimilarity()) + " at"
				p.Obstacles = explain.Obstacles(graph, e, explanations)
			}
			if card.Message < 0 {
				card.Message = int(best.GetIndex())
			}
			card.Places = append(card.Places, p)
		}
		cards = append(cards, card)
	}
	return cards
}

func (n nodes) place(graph *evaluationv1.Graph, at *evaluatorv1.NodeEvaluation) place {
	p := place{Message: int(at.GetIndex())}
	for _, c := range at.GetConstraints() {
		p.Rules = append(p.Rules, n.rule(graph, at, c))
	}
	broken, held := explain.Guardrails(at)
	for _, c := range broken {
		p.Rules = append(p.Rules, n.rule(graph, at, c))
	}
	p.Held = held
	return p
}

func (n nodes) rule(graph *evaluationv1.Graph, at *evaluatorv1.NodeEvaluation, c *evaluatorv1.ConstraintExplanation) rule {
	r := rule{Score: c.GetSimilarity(), Table: c.GetTable(), Measure: explain.Measure(c), SinceMessage: -1, Changed: -1, Problem: c.GetProblem()}
	if c.Reference != nil {
		r.Since, r.SinceMessage = explain.Reference(graph, c.GetReference()), int(c.GetReferenceIndex())
	}
	for _, version := range n.report.Tables {
		if i := version.GetIndex(); version.GetName() == c.GetTable() && i > 0 && i <= at.GetIndex() {
			r.Changed = max(r.Changed, int(i))
		}
	}
	if r.Changed == int(at.GetIndex()) {
		r.Changed = -1
	}
	for _, e := range c.GetExtracted() {
		r.Extracted = append(r.Extracted, argument{e.GetName(), shorten(e.GetValue())})
	}
	shape, _ := n.schema.Table(c.GetTable())
	changes := change{Table: c.GetTable()}
	for _, changed := range c.GetChanges() {
		switch {
		case changed.GetBefore() == nil && changed.GetAfter() == nil:
			r.Differs = changed.GetColumns()
		case changed.GetBefore() == nil:
			changes.Added = append(changes.Added, newRow(shape, changed.GetAfter()))
		case changed.GetAfter() == nil:
			changes.Removed = append(changes.Removed, newRow(shape, changed.GetBefore()))
		default:
			for _, name := range changed.GetColumns() {
				changes.Changed = append(changes.Changed, cellChange{literal(shape, changed.GetBefore(), shape.Columns[0].Name), name, literal(shape, changed.GetBefore(), name), literal(shape, changed.GetAfter(), name)})
			}
		}
	}
	if len(changes.Added)+len(changes.Removed)+len(changes.Changed) > 0 {
		r.Changes = new(changes.bounded())
	}
	for _, rows := range c.GetRows() {
		r.Rows = append(r.Rows, n.pair(shape, c, rows))
	}
	return r
}

func literal(shape world.Table, r *worldv1.Row, column string) string {
	return shorten(explain.Cell(shape, r, column))
}

func (n nodes) pair(shape world.Table, c *evaluatorv1.ConstraintExplanation, rows *evaluatorv1.RowExplanation) pair {
	var p pair
	several := len(c.GetRows()) > 1
	missing := rows.GetFound() == nil && c.GetTable() != world.Sandbox && c.GetPackMeasure() == ""
	switch {
	case rows.Wanted == nil:
		p.Title = "not wanted"
		if c.GetPackMeasure() != "" {
			p.Title = "found"
		}
		found := newRow(shape, rows.GetFound())
		p.Row = &found
		return p
	case c.GetPackMeasure() != "":
		p.Title = "wanted"
		p.Row = &row{}
		for _, cell := range rows.GetCells() {
			p.Row.Cells = append(p.Row.Cells, argument{cell.GetColumn(), cellText(cell.GetWanted())})
		}
		return p
	case missing:
		p.Title = fmt.Sprintf("row %d is missing", rows.GetWanted())
	case several:
		p.Title, p.Score = fmt.Sprintf("row %d", rows.GetWanted()), new(rows.GetSimilarity())
	}
	for _, compared := range rows.GetCells() {
		p.Cells = append(p.Cells, newCells(compared, missing)...)
	}
	return p
}

func plain(text string) words { return newWords([]explain.Part{{Text: text}}) }

// newCells shows a pair of cells; a call has a line for each argument as well.
func newCells(c *evaluatorv1.CellExplanation, missing bool) []cell {
	shown := cell{Column: c.GetColumn(), Measure: explain.ColumnMeasure(c), Score: c.GetSimilarity(), Note: c.GetProblem()}
	if c.GetNoResult() {
		shown.State = "does not count"
	}
	switch {
	case missing:
		shown.State, shown.Wanted, shown.Found = "missing", plain(world.Literal(c.GetWanted())), plain("–")
	case c.GetTrace() != nil:
		shown.Wanted, shown.Found = plain(c.GetTrace().GetTool()), plain(c.GetTrace().GetFoundTool())
		if c.GetTrace().GetFoundTool() == "" {
			shown.Found = plain("no call that succeeded")
		}
		all := []cell{shown}
		for _, a := range c.GetTrace().GetArguments() {
			all = append(all, newArgument(a))
		}
		return all
	case c.GetText() != nil:
		shown.Wanted, shown.Found = newWords(explain.WantedParts(c)), newWords(explain.FoundParts(c))
		shown.Note = fmt.Sprintf("precision %s, recall %s", explain.Number(c.GetText().GetPrecision()), explain.Number(c.GetText().GetRecall()))
	default:
		shown.Wanted, shown.Found = plain(world.Literal(c.GetWanted())), plain(explain.Found(c))
	}
	return []cell{shown}
}

func newArgument(a *evaluatorv1.ArgumentComparison) cell {
	shown := cell{Column: "· " + a.GetName(), State: "differs", Wanted: plain(a.GetWantedJson()), Found: plain("not given")}
	if a.Tolerance != nil {
		shown.Note = fmt.Sprintf("± %v", a.GetTolerance())
	}
	if a.FoundJson != nil {
		shown.Found = plain(a.GetFoundJson())
	}
	if a.GetMatches() {
		shown.State = "fits"
	}
	return shown
}

// excerpt is the beginning of a message on one line.
func excerpt(m *worldv1.Message) string {
	return spelling.Beginning(fmt.Sprintf("%s to %s: %s", world.RoleName(m.GetSender()), world.RoleName(m.GetRecipient()), messagetext.Content(m)), 160)
}

// mark is what the graph says of a node.
func (n node) mark() string {
	switch {
	case n.State != "":
		return n.State
	case n.Kind == "minefield":
		return explain.Number(n.Score) + " triggered"
	}
	return fmt.Sprintf("%s at message %d", explain.Number(n.Score), n.Message)
}
