package translate_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/score"
)

// tolerance is the accepted difference of numbers that were computed in another order.
const tolerance = 1e-12

// mean returns the geometric mean of a product of n similarities.
func mean(product float64, n int) float64 {
	switch {
	case n <= 1 || product == 0 || product == 1:
		return product
	case n == 2:
		return math.Sqrt(product)
	}
	return math.Pow(product, 1/float64(n))
}

// explanationChecker records numbers of an explanation that do not follow from each other.
type explanationChecker struct{ differences []string }

// add compares two numbers.
func (s *explanationChecker) add(place string, got, want, tolerance float64) {
	if math.IsNaN(got) || math.Abs(got-want) > tolerance {
		s.differences = append(s.differences, fmt.Sprintf("%s: explained as %v, want %v", place, got, want))
	}
}

func (s *explanationChecker) graph(name string, nodes []*evaluatorv1.NodeExplanation, result *score.GraphResult) {
	if len(nodes) == 0 {
		return
	}
	sum := 0.0
	for i, node := range nodes {
		place := fmt.Sprintf("%s[%d]", name, i)
		if match := result.Matches[i]; match.Matched != (node.Match != nil) {
			s.differences = append(s.differences, place+": matched in the explanation or in the score only")
		} else if match.Matched {
			s.add(place+".index", float64(node.Match.Index), float64(match.Index), 0)
			s.add(place, node.Match.Similarity, match.Similarity, 0)
			s.node(place, node.Match)
			sum += node.Match.Similarity
		}
		if node.Best != nil {
			s.node(place+" alone", node.Best)
			if node.Match != nil && (node.Best.Index == node.Match.Index || node.Best.Similarity < node.Match.Similarity) {
				s.differences = append(s.differences, place+": the best message alone is no better than the match")
			}
		}
	}
	s.add(name, sum/float64(len(nodes)), result.Similarity, 0)
}

// node checks a node's constraints and that its similarity follows from theirs.
func (s *explanationChecker) node(place string, node *evaluatorv1.NodeEvaluation) {
	product, guarded, n := 1.0, 1.0, 0
	for i := range node.Constraints {
		c := node.Constraints[i]
		if c.Measure == score.Guardrail {
			guarded *= c.Similarity
		} else {
			product *= c.Similarity
			n++
		}
		s.constraint(fmt.Sprintf("%s.constraints[%d]", place, i), c)
	}
	for i := range node.Guardrails {
		guarded *= node.Guardrails[i].Similarity
		s.constraint(fmt.Sprintf("%s.guardrails[%d]", place, i), node.Guardrails[i])
	}
	s.add(place, mean(product, n)*guarded, node.Similarity, 0)
}

// constraint checks a constraint's rows and that its similarity follows from theirs.
func (s *explanationChecker) constraint(place string, c *evaluatorv1.ConstraintExplanation) {
	product, same := 1.0, 0.0
	for i := range c.Rows {
		s.row(fmt.Sprintf("%s.rows[%d]", place, i), c.Rows[i])
		product *= c.Rows[i].Similarity
	}
	if len(c.Changes) == 0 {
		same = 1
	}
	switch {
	case c.Problem != "":
		s.add(place, 0, c.Similarity, 0)
	case c.Measure == score.Guardrail:
		s.add(place, same, c.Similarity, 0)
	default:
		s.add(place, mean(product, len(c.Rows)), c.Similarity, tolerance)
	}
}

// row checks a row's cells and that its similarity follows from theirs.
func (s *explanationChecker) row(place string, row *evaluatorv1.RowExplanation) {
	if len(row.Cells) == 0 {
		return
	}
	product, results := 1.0, 0
	for i := range row.Cells {
		cell := row.Cells[i]
		s.cell(place+"."+cell.Column, cell)
		if !cell.NoResult {
			product *= cell.Similarity
			results++
		}
	}
	if results == 0 && len(row.Cells) == 1 {
		product = 0
	}
	s.add(place, mean(product, len(row.Cells)), row.Similarity, tolerance)
}

// cell checks that a cell's similarity follows from its details.
func (s *explanationChecker) cell(place string, cell *evaluatorv1.CellExplanation) {
	if text := cell.Text; text != nil {
		similarity := 0.0
		if text.Precision > 0 {
			similarity = float64(float32(2 * text.Precision * text.Recall / (text.Precision + text.Recall)))
		}
		s.add(place+" text", similarity, cell.Similarity, 0)
	}
	if trace := cell.Trace; trace != nil {
		fits := 0.0
		if trace.Tool == trace.FoundTool {
			fits = 1
		}
		for _, argument := range trace.Arguments {
			if !argument.Matches {
				fits = 0
			}
		}
		s.add(place+" trace", fits, cell.Similarity, 0)
	}
}

// explain explains a case and compares the explanation with the score.
func explain(t *testing.T, c recorded, want score.Result) {
	t.Helper()
	got := score.Explain(c.trajectory, c.graphs.Milestones, c.graphs.Minefields)
	if diff := cmp.Diff(want, got.Result); diff != "" {
		t.Errorf("%s: result (-scored +explained):\n%s", c.name, diff)
	}
	var s explanationChecker
	s.graph("milestones", got.Milestones, &want.Milestones)
	s.graph("minefields", got.Minefields, &want.Minefields)
	for _, difference := range s.differences {
		t.Errorf("%s: %s", c.name, difference)
	}
}
