package explain

import (
	"fmt"
	"io"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
)

// longestExcerpt is the number of characters of a message in its heading.
const longestExcerpt = 90

// WriteText writes the explanation for a person, with the styles of package output.
func (r *Report) WriteText(w io.Writer) error {
	p := &printer{report: r, schema: world.SchemaOrBuiltin(r.Evaluation.GetSchema())}
	result := r.Explanation.GetResult()
	graded := result.GetCallGrade() != nil
	if graded {
		p.line("%s", p.bold(r.Name))
	} else {
		p.line("%s: similarity %s (milestones %s, minefields %s), %d messages", p.bold(r.Name), p.score(result.GetSimilarity()),
			p.score(result.GetMilestoneSimilarity()), Number(result.GetMinefieldSimilarity()), result.GetMessageCount())
	}
	if remark := r.Remark(); remark != "" {
		p.line("%s", remark)
	}
	for _, cause := range r.CauseLines() {
		p.line("%s", cause.Text)
	}
	if graded {
		p.grade(result.GetCallGrade(), r.Evaluation.GetFunctionCalling())
	}
	p.graph("milestone", r.Evaluation.GetMilestones(), r.Explanation.GetMilestones())
	p.graph("minefield", r.Evaluation.GetMinefields(), r.Explanation.GetMinefields())
	_, err := io.WriteString(w, p.text.String())
	return err
}

// printer collects the lines of one report.
type printer struct {
	schema *world.Schema
	report *Report
	indent int
	text   strings.Builder
}

// line appends a line at the current indentation; further lines of the text are indented below it.
func (p *printer) line(format string, args ...any) {
	indent := strings.Repeat("  ", p.indent)
	p.text.WriteString(indent + strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n"+indent) + "\n")
}

// inside prints the details of the last line.
func (p *printer) inside(lines func()) {
	p.indent++
	lines()
	p.indent--
}

func (p *printer) graph(kind string, graph *evaluationv1.Graph, nodes []*evaluatorv1.NodeExplanation) {
	for _, node := range nodes {
		title := kind + " " + p.bold(Title(node.GetNode(), node.GetName()))
		p.line("")
		match := node.GetMatch()
		switch {
		case match == nil:
			p.line("%s: %s, never matched", title, p.score(0))
		case kind == "minefield" && match.GetSimilarity() == 0:
			p.line("%s: 0, not triggered", title)
			p.guarded(graph, node)
			continue
		default:
			p.line("%s: %s at %s", title, p.score(match.GetSimilarity()), p.message(match.GetIndex()))
			p.inside(func() { p.node(graph, match) })
		}
		if best := node.GetBest(); best != nil {
			p.inside(func() {
				p.best(graph, node, nodes)
				p.inside(func() { p.node(graph, best) })
			})
		}
	}
}

// best prints where a node alone would match better and what prevents it there.
func (p *printer) best(graph *evaluationv1.Graph, node *evaluatorv1.NodeExplanation, nodes []*evaluatorv1.NodeExplanation) {
	best := node.GetBest()
	if best.GetSimilarity() == 0 {
		p.line("nearest: %s at %s", p.score(0), p.message(best.GetIndex()))
		return
	}
	p.line("alone it would be %s at %s", p.score(best.GetSimilarity()), p.message(best.GetIndex()))
	for _, obstacle := range Obstacles(graph, node, nodes) {
		p.line("%s", obstacle)
	}
}

func (p *printer) node(graph *evaluationv1.Graph, at *evaluatorv1.NodeEvaluation) {
	for _, constraint := range at.GetConstraints() {
		p.constraint(graph, constraint)
	}
	broken, held := Guardrails(at)
	for _, guard := range broken {
		p.constraint(graph, guard)
	}
	if len(held) > 0 {
		p.line("guardrails hold: %s", strings.Join(held, ", "))
	}
}

func (p *printer) constraint(graph *evaluationv1.Graph, c *evaluatorv1.ConstraintExplanation) {
	since := ""
	if c.Reference != nil {
		since = fmt.Sprintf(" since message %d (%s)", c.GetReferenceIndex(), Reference(graph, c.GetReference()))
	}
	p.line("%s %s %s%s", p.score(c.GetSimilarity()), c.GetTable(), Measure(c), since)
	p.inside(func() {
		if c.GetProblem() != "" {
			p.line("%s", c.GetProblem())
		}
		for _, extracted := range c.GetExtracted() {
			p.line("with %s = %s", extracted.GetName(), extracted.GetValue())
		}
		p.changes(c)
		p.rows(c)
	})
}

// message returns a message's heading.
func (p *printer) message(index int32) string {
	if int(index) >= len(p.report.Messages) {
		return fmt.Sprintf("message %d", index)
	}
	m := p.report.Messages[index]
	excerpt := []rune(strings.Join(strings.Fields(messagetext.Content(m)), " "))
	if len(excerpt) > longestExcerpt {
		excerpt = append(excerpt[:longestExcerpt-1], '…')
	}
	return fmt.Sprintf("message %d, %s to %s: %s", index, world.RoleName(m.GetSender()), world.RoleName(m.GetRecipient()), string(excerpt))
}

func (p *printer) paint(style, text string) string {
	return style + text + output.Plain
}

func (p *printer) bold(text string) string { return p.paint(output.Bold, text) }

// score formats a similarity in a colour for its value.
func (p *printer) score(similarity float64) string {
	style := output.Yellow
	switch similarity {
	case 0:
		style = output.Red
	case 1:
		style = output.Green
	}
	return p.paint(style, Number(similarity))
}
