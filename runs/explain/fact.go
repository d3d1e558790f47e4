package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// This file has what a text and a page both say. They differ in their layout only.

// firstUserMessage is the reference to the first user message instead of a node.
const firstUserMessage = -1

// Remark says why the recorded score is not that of the explanation, empty if it is.
func (r *Report) Remark() string {
	switch {
	case r.Recorded == nil:
		return fmt.Sprintf("The rollout ended with %s and has no score, whatever its messages reach.", cmp.Or(r.Failure, "a similarity that is no number"))
	case r.Failure != "":
		return fmt.Sprintf("The rollout ended with %s and scores %s whatever its messages reach.", r.Failure, Number(*r.Recorded))
	case *r.Recorded != r.Explanation.GetResult().GetSimilarity():
		return fmt.Sprintf("The run recorded %s; the milestones have changed since. See toolsandbox score.", Number(*r.Recorded))
	}
	return ""
}

// CauseLine is a cause in words.
type CauseLine struct {
	Text string
	// User: it is a fault of the simulated user.
	User bool
	// Message is the index of its first message, -1 for the end of the rollout.
	Message int
}

// CauseLines returns the recorded causes, minefields first.
func (r *Report) CauseLines() []CauseLine {
	causes := slices.Clone(r.Causes)
	isMinefield := func(c results.Cause) bool { return c.Is(busv1.CauseKind_CAUSE_KIND_MINEFIELD) }
	if at := slices.IndexFunc(causes, isMinefield); at > 0 {
		causes = slices.Concat(causes[at:at+1], causes[:at], causes[at+1:])
	}
	var lines []CauseLine
	for _, cause := range causes {
		line, times, detail, at := CauseLine{User: cause.User, Message: -1}, "", "", ""
		if cause.Count > 1 {
			times = fmt.Sprintf(", %d times, first", cause.Count)
		}
		if cause.Detail != "" {
			detail = " (" + output.Line(cause.Detail) + ")"
		}
		if cause.Index < len(r.Messages) {
			line.Message = cause.Index
			at = fmt.Sprintf(" at message %d", cause.Index)
		}
		role := map[bool]string{false: "cause", true: "the user failed"}[cause.User]
		line.Text = fmt.Sprintf("%s: %s%s%s%s", role, cause.Sentence(), times, at, detail)
		lines = append(lines, line)
	}
	return lines
}

// Obstacles says which other nodes of the graph keep a node from its best message.
func Obstacles(graph *evaluationv1.Graph, node *evaluatorv1.NodeExplanation, nodes []*evaluatorv1.NodeExplanation) []string {
	at := make(map[int32]*evaluatorv1.NodeExplanation)
	for _, other := range nodes {
		if other.GetMatch().GetSimilarity() > 0 {
			at[other.GetNode()] = other
		}
	}
	best := node.GetBest().GetIndex()
	var obstacles []string
	for _, edge := range graph.GetEdges() {
		before, after := at[edge.GetBefore()], at[edge.GetAfter()]
		if edge.GetAfter() == node.GetNode() && before != nil && before.GetMatch().GetIndex() > best {
			obstacles = append(obstacles, fmt.Sprintf("but %s must come before it and is at message %d", Title(before.GetNode(), before.GetName()), before.GetMatch().GetIndex()))
		}
		if edge.GetBefore() == node.GetNode() && after != nil && after.GetMatch().GetIndex() < best {
			obstacles = append(obstacles, fmt.Sprintf("but %s must come after it and is at message %d", Title(after.GetNode(), after.GetName()), after.GetMatch().GetIndex()))
		}
	}
	return obstacles
}

// Guardrails returns the broken automatic guardrails of a node, and each guarded table that has not
// changed with the message since which it is guarded.
func Guardrails(at *evaluatorv1.NodeEvaluation) (broken []*evaluatorv1.ConstraintExplanation, held []string) {
	for _, guard := range at.GetGuardrails() {
		if guard.GetSimilarity() < 1 {
			broken = append(broken, guard)
		} else if text := fmt.Sprintf("%s since %d", guard.GetTable(), guard.GetReferenceIndex()); !slices.Contains(held, text) {
			held = append(held, text)
		}
	}
	return broken, held
}

// Reference names the reference of a constraint.
func Reference(graph *evaluationv1.Graph, node int32) string {
	switch {
	case node == firstUserMessage:
		return "the first of the user"
	case int(node) < len(graph.GetNodes()):
		return Title(node, graph.GetNodes()[node].GetName())
	default:
		return Title(node, "")
	}
}

// Title returns a node's number and name.
func Title(node int32, name string) string {
	if name == "" {
		return strconv.Itoa(int(node))
	}
	return strconv.Itoa(int(node)) + " " + name
}

// Measure is the name of the measure of a constraint.
func Measure(c *evaluatorv1.ConstraintExplanation) string {
	return cmp.Or(c.GetPackMeasure(), evaluation.MeasureName(c.GetMeasure()))
}

// ColumnMeasure is the name of the measure of two cells.
func ColumnMeasure(c *evaluatorv1.CellExplanation) string {
	return cmp.Or(c.GetPackMeasure(), evaluation.MeasureName(c.GetMeasure()))
}

// Found is the found cell.
func Found(c *evaluatorv1.CellExplanation) string {
	if len(c.GetFoundTexts()) > 0 {
		return strings.Join(c.GetFoundTexts(), " ")
	}
	return world.Literal(c.GetFound())
}

// CommonWords returns the common words of two texts, the found one too where its letters differ.
func CommonWords(c *evaluatorv1.TextComparison) []string {
	var common []string
	for _, word := range c.GetCommon() {
		text := word.GetWanted()
		if !strings.EqualFold(text, word.GetFound()) {
			text += "/" + word.GetFound()
		}
		common = append(common, text)
	}
	return common
}

// Part is a part of a compared text.
type Part struct {
	Text string
	// Common: it is a word of both texts.
	Common bool
}

// WantedParts splits the wanted text of a cell at the common words.
func WantedParts(c *evaluatorv1.CellExplanation) []Part {
	return parts(c.GetWanted().GetText(), c.GetText().GetCommon(), func(w *evaluatorv1.CommonWord) (int, int) {
		return int(w.GetWantedAt()), len(w.GetWanted())
	})
}

// FoundParts splits the found text of a cell at the common words.
func FoundParts(c *evaluatorv1.CellExplanation) []Part {
	return parts(c.GetFound().GetText(), c.GetText().GetCommon(), func(w *evaluatorv1.CommonWord) (int, int) {
		return int(w.GetFoundAt()), len(w.GetFound())
	})
}

// parts splits a text at words, of which place returns the offset and the length in bytes.
func parts(text string, words []*evaluatorv1.CommonWord, place func(*evaluatorv1.CommonWord) (int, int)) []Part {
	var all []Part
	last := 0
	for _, word := range words {
		start, length := place(word)
		if end := start + length; start >= last && end <= len(text) {
			if start > last {
				all = append(all, Part{Text: text[last:start]})
			}
			all = append(all, Part{Text: text[start:end], Common: true})
			last = end
		}
	}
	if last < len(text) {
		all = append(all, Part{Text: text[last:]})
	}
	return all
}

// Number formats a similarity with three decimals; only 0 and 1 appear as 0 and 1.
func Number(similarity float64) string {
	rounded := math.Round(similarity*1000) / 1000
	if similarity == 0 || similarity == 1 || rounded == 0 || rounded == 1 {
		return strconv.FormatFloat(similarity, 'g', -1, 64)
	}
	return strconv.FormatFloat(similarity, 'f', 3, 64)
}
