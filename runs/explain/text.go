package explain

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// firstUserMessage is the reference to the first user message instead of a node.
const firstUserMessage = -1

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
			p.score(result.GetMilestoneSimilarity()), number(result.GetMinefieldSimilarity()), result.GetMessageCount())
	}
	switch {
	case r.Recorded == nil:
		p.line("The rollout ended with %s and has no score, whatever its messages reach.", cmp.Or(r.Failure, "a similarity that is no number"))
	case r.Failure != "":
		p.line("The rollout ended with %s and scores %s whatever its messages reach.", r.Failure, number(*r.Recorded))
	case *r.Recorded != result.GetSimilarity():
		p.line("The run recorded %s; the milestones have changed since. See toolsandbox score.", number(*r.Recorded))
	}
	p.causes()
	if graded {
		p.grade(result.GetCallGrade(), r.Evaluation.GetFunctionCalling())
	}
	p.graph("milestone", r.Evaluation.GetMilestones(), r.Explanation.GetMilestones())
	p.graph("minefield", r.Evaluation.GetMinefields(), r.Explanation.GetMinefields())
	_, err := io.WriteString(w, p.text.String())
	return err
}

// causes prints what the run recorded that may have cost the score, minefields first.
func (p *printer) causes() {
	causes := slices.Clone(p.report.Causes)
	isMinefield := func(c results.Cause) bool { return c.Is(busv1.CauseKind_CAUSE_KIND_MINEFIELD) }
	if at := slices.IndexFunc(causes, isMinefield); at > 0 {
		causes = slices.Concat(causes[at:at+1], causes[:at], causes[at+1:])
	}
	for _, cause := range causes {
		times, detail, at := "", "", ""
		if cause.Count > 1 {
			times = fmt.Sprintf(", %d times, first", cause.Count)
		}
		if cause.Detail != "" {
			detail = " (" + output.Line(cause.Detail) + ")"
		}
		if cause.Index < len(p.report.Messages) {
			at = fmt.Sprintf(" at message %d", cause.Index)
		}
		p.line("%s: %s%s%s%s", map[bool]string{false: "cause", true: "the user failed"}[cause.User], cause.Sentence(), times, at, detail)
	}
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
		title := kind + " " + p.bold(title(node.GetNode(), node.GetName()))
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
	at := make(map[int32]*evaluatorv1.NodeExplanation)
	for _, other := range nodes {
		if other.GetMatch().GetSimilarity() > 0 {
			at[other.GetNode()] = other
		}
	}
	for _, edge := range graph.GetEdges() {
		before, after := at[edge.GetBefore()], at[edge.GetAfter()]
		if edge.GetAfter() == node.GetNode() && before != nil && before.GetMatch().GetIndex() > best.GetIndex() {
			p.line("but %s must come before it and is at message %d", title(before.GetNode(), before.GetName()), before.GetMatch().GetIndex())
		}
		if edge.GetBefore() == node.GetNode() && after != nil && after.GetMatch().GetIndex() < best.GetIndex() {
			p.line("but %s must come after it and is at message %d", title(after.GetNode(), after.GetName()), after.GetMatch().GetIndex())
		}
	}
}

func (p *printer) node(graph *evaluationv1.Graph, at *evaluatorv1.NodeEvaluation) {
	for _, constraint := range at.GetConstraints() {
		p.constraint(graph, constraint)
	}
	var satisfied []string
	for _, guard := range at.GetGuardrails() {
		if guard.GetSimilarity() < 1 {
			p.constraint(graph, guard)
		} else if text := fmt.Sprintf("%s since %d", guard.GetTable(), guard.GetReferenceIndex()); !slices.Contains(satisfied, text) {
			satisfied = append(satisfied, text)
		}
	}
	if len(satisfied) > 0 {
		p.line("guardrails hold: %s", strings.Join(satisfied, ", "))
	}
}

func (p *printer) constraint(graph *evaluationv1.Graph, c *evaluatorv1.ConstraintExplanation) {
	measure := cmp.Or(c.GetPackMeasure(), strings.ToLower(strings.TrimPrefix(c.GetMeasure().String(), "SNAPSHOT_MEASURE_")))
	since := ""
	if c.Reference != nil {
		since = fmt.Sprintf(" since message %d (%s)", c.GetReferenceIndex(), reference(graph, c.GetReference()))
	}
	p.line("%s %s %s%s", p.score(c.GetSimilarity()), c.GetTable(), measure, since)
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

// reference names the reference of a constraint.
func reference(graph *evaluationv1.Graph, node int32) string {
	switch {
	case node == firstUserMessage:
		return "the first of the user"
	case int(node) < len(graph.GetNodes()):
		return title(node, graph.GetNodes()[node].GetName())
	default:
		return title(node, "")
	}
}

// title returns a node's number and name.
func title(node int32, name string) string {
	if name == "" {
		return strconv.Itoa(int(node))
	}
	return strconv.Itoa(int(node)) + " " + name
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
	return p.paint(style, number(similarity))
}

// number formats a similarity with three decimals; only 0 and 1 appear as 0 and 1.
func number(similarity float64) string {
	rounded := math.Round(similarity*1000) / 1000
	if similarity == 0 || similarity == 1 || rounded == 0 || rounded == 1 {
		return strconv.FormatFloat(similarity, 'g', -1, 64)
	}
	return strconv.FormatFloat(similarity, 'f', 3, 64)
}
