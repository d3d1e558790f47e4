package scenario

import (
	"fmt"
	"slices"
	"strconv"

	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

const (
	// DefaultMaxIdleScore is the default of the highest similarity of an unhelpful agent.
	DefaultMaxIdleScore = 0.35

	milestonesPath = "evaluation.milestones"
	minefieldsPath = "evaluation.minefields"
)

// proof reads the author's claims besides the oracle's solution. Turns count from 1 in files, from
// 0 in the proof.
func (b *builder) proof(v *document.Value) *scenariov1.Proof {
	proof := &scenariov1.Proof{MaxIdleScore: DefaultMaxIdleScore}
	if score := v.Get("max_idle_score"); b.CheckShape(score, document.ShapeNumber) {
		proof.MaxIdleScore = score.Number
	}
	for _, item := range b.Items(v.Get("orders")) {
		order := &scenariov1.Order{}
		b.recordSource("proof.orders["+strconv.Itoa(len(proof.GetOrders()))+"]", item)
		for _, turn := range b.Items(item) {
			if b.CheckShape(turn, document.ShapeNumber) {
				order.Turns = append(order.Turns, int32(b.Integer(turn, 1, form.MaxTurns))-1)
			}
		}
		proof.Orders = append(proof.Orders, order)
	}
	minefields := v.Get("minefields")
	if minefields == nil || minefields.Shape != document.ShapeMapping {
		return proof // evaluation records the mistake
	}
	for i := range minefields.Fields {
		item := minefields.Fields[i].Value
		if item.Get("triggered_by") == nil {
			continue
		}
		at := "proof.triggers[" + strconv.Itoa(len(proof.GetTriggers())) + "]"
		b.recordSource(at, item.Get("triggered_by"))
		proof.Triggers = append(proof.Triggers, &scenariov1.MinefieldTrigger{
			Minefield: int32(i), Turns: b.script(item.Get("triggered_by"), form.Turn(), at+".turns"),
		})
	}
	return proof
}

// proof checks the claims about a scenario, if it has any.
func (c *checker) proof(s *scenariov1.Scenario) {
	proof := s.GetProof()
	if !(proof.GetMaxIdleScore() >= 0 && proof.GetMaxIdleScore() <= 1) {
		c.fail("proof.max_idle_score", "is %v, expected a similarity from 0 to 1", proof.GetMaxIdleScore())
	}
	for i, order := range proof.GetOrders() {
		path := fmt.Sprintf("proof.orders[%d]", i)
		c.permutation(path, order.GetTurns(), len(s.GetSetup().GetOracleScript()))
		for j := range i {
			if slices.Equal(proof.GetOrders()[j].GetTurns(), order.GetTurns()) {
				c.fail(path, "is the same order as number %d", j+1)
			}
		}
	}
	nodes := s.GetEvaluation().GetMinefields().GetNodes()
	tripped := map[int32]bool{}
	for i, trigger := range proof.GetTriggers() {
		path := fmt.Sprintf("proof.triggers[%d]", i)
		switch number := trigger.GetMinefield(); {
		case number < 0 || int(number) >= len(nodes):
			c.fail(path, "is about minefield %d, expected a number below %d", number, len(nodes))
		case tripped[number]:
			c.fail(path, "minefield %d has two", number)
		default:
			tripped[number] = true
		}
		if len(trigger.GetTurns()) == 0 {
			c.fail(path, "is empty, expected the turns that step on the minefield")
		}
		c.script(path+".turns", trigger.GetTurns(), func(tool string) string { return whyDenied(s.GetSetup().GetTools(), tool) })
	}
}

// permutation checks another order of the oracle's turns.
func (c *checker) permutation(path string, order []int32, count int) {
	sorted := slices.Sorted(slices.Values(order))
	identity := make([]int32, count)
	for i := range identity {
		identity[i] = int32(i)
	}
	switch {
	case !slices.Equal(sorted, identity):
		c.fail(path, "is no order of the oracle's %d turns, expected each number from 1 to %d once", count, count)
	case slices.Equal(order, identity):
		c.fail(path, "is the order in which the oracle is written; leave it out")
	}
}
