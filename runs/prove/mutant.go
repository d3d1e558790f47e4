package prove

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// uninformativeText is a text that withholds every fact.
const uninformativeText = "All right, that is done."

// planMutants plans solutions with one fault each.
func (s *candidate) planMutants() {
	for node := range s.scenario.GetEvaluation().GetMilestones().GetNodes() {
		s.planWithout(node)
	}
	named := s.milestoneArguments()
	for _, st := range s.oracle.steps {
		switch {
		case st.call == nil:
			s.planTexts(st)
		case st.failed: // a failed call had no effect, so no variation of it is a fault
		case st.readOnly:
			s.planArguments(st, named[st.call.GetTool()])
			s.addMutant(&experiment{name: "without " + st.text(), rule: ruleMutant, kind: observed, dropped: st.call.GetId()}, s.scriptWithout(st))
		default:
			s.planArguments(st, nil)
			s.addMutant(&experiment{
				name: "without " + st.text(), rule: ruleMutant, kind: lower, equivalence: sameAnswers, dropped: st.call.GetId(), step: st, missing: true,
				fault: fmt.Sprintf("the oracle scores as much without its call of %s", st.call.GetTool()), remedy: "let a milestone check what it does",
			}, s.scriptWithout(st))
		}
	}
	s.planExtras()
}

// text names a step for people.
func (st *step) text() string {
	if st.call == nil {
		return fmt.Sprintf("the text of turn %d", st.turn+1)
	}
	return fmt.Sprintf("%s of turn %d", st.call.GetTool(), st.turn+1)
}

// planWithout plans the oracle without the step that reaches a milestone: the call or text, or all
// calls of the turn if a table shows it.
func (s *candidate) planWithout(node int) {
	milestone := s.scenario.GetEvaluation().GetMilestones().GetNodes()[node]
	st := s.oracle.stepAt(s.oracle.matched[node])
	if st == nil {
		return // it holds at the start, which checkStart reports
	}
	script, dropped := s.scriptWithout(st), st.call.GetId()
	if turns := s.scenario.GetSetup().GetOracleScript(); onlyTables(milestone) && len(turns[st.turn].GetCalls()) > 1 {
		script, dropped = slices.Delete(slices.Clone(turns), st.turn, st.turn+1), ""
	}
	s.addMutant(&experiment{
		name: "without " + nodeText(milestone, node), rule: ruleMilestone, kind: lower, dropped: dropped, step: st, missing: true,
		fault:  fmt.Sprintf("%s is not needed: the oracle without %s scores as much", nodeText(milestone, node), st.text()),
		remedy: "let it check what only this step reaches, or remove it",
	}, script)
}

// scriptWithout returns the oracle's script without a step.
func (s *candidate) scriptWithout(st *step) []*worldv1.ScriptTurn {
	return s.with(st, nil)
}

// with returns the oracle's script with another call or text in place of a step; nil removes the
// step.
func (s *candidate) with(st *step, turn *worldv1.ScriptTurn) []*worldv1.ScriptTurn {
	script := slices.Clone(s.scenario.GetSetup().GetOracleScript())
	if st.call == nil || len(script[st.turn].GetCalls()) == 1 {
		if turn == nil {
			return slices.Delete(script, st.turn, st.turn+1)
		}
		script[st.turn] = turn
		return script
	}
	script[st.turn] = &worldv1.ScriptTurn{Calls: slices.Replace(slices.Clone(script[st.turn].GetCalls()), st.number, st.number+1, turn.GetCalls()...)}
	return script
}

// planArguments plans a call with each argument wrong in turn: all arguments of a call that writes,
// those that a milestone names of a call that only reads.
func (s *candidate) planArguments(st *step, named map[string]bool) {
	arguments, err := decodeArguments(st.call.GetArgumentsJson())
	if err != nil {
		s.fail(ruleOracle, "%v", err)
		return
	}
	for i, a := range arguments {
		if st.readOnly && !named[a.name] {
			continue
		}
		wrong := append(a.wrong(s.tolerance(a.name)), s.alternatives(a, st.index)...)
		if s.hasPackMeasures() {
			wrong = append(wrong, a.distantValues()...)
		}
		for _, w := range wrong {
			call := proto.CloneOf(st.call)
			call.ArgumentsJson = replaced(arguments, i, w.value)
			s.addMutant(&experiment{
				name: fmt.Sprintf("%s with %s: %s", st.text(), a.name, w.name), rule: ruleMutant, kind: lower, equivalence: sameAnswers, step: st,
				fault:  fmt.Sprintf("%s may have a wrong %s, %s instead of %s", st.text(), a.name, w.value, a.value),
				remedy: "let a milestone check it",
				part:   st.text() + " " + a.name, wrong: w.value,
			}, s.with(st, &worldv1.ScriptTurn{Calls: []*worldv1.ToolCall{call}}))
		}
	}
}

// alternatives returns other ids and numbers than the argument's.
func (s *candidate) alternatives(a argument, index int) []argument {
	text, ok := a.unquote()
	if !ok {
		return nil
	}
	type key struct{ table, column, name string }
	keys := []key{{world.Contact, "phone_number", "another person's number"}}
	for _, table := range s.oracle.schema.StoredTables() {
		keys = append(keys, key{table.Name, table.Columns[0].Name, "another row of " + world.AuthorName(table.Name)})
	}
	for _, key := range keys {
		records := s.oracle.records(key.table, index-1)
		if !slices.ContainsFunc(records, func(r rowByColumn) bool { return r.text(key.column) == text }) {
			continue
		}
		var out []argument
		for _, r := range records {
			if other := r.text(key.column); other != "" && other != text {
				out = append(out, argument{name: key.name, value: quote(other)})
			}
		}
		return out[:min(len(out), 2)]
	}
	return nil
}

// planTexts plans each wanted text without its facts and with wrong ones.
func (s *candidate) planTexts(st *step) {
	if len(st.milestones) == 0 {
		return
	}
	remedy := "let the milestone's text hold the fact, compared by rouge_l or exact"
	s.addMutant(&experiment{
		name: st.text() + " without facts", rule: ruleMutant, kind: lower, step: st,
		fault: fmt.Sprintf("the agent may say %q instead of %s", uninformativeText, st.text()), remedy: remedy, part: st.text(),
	}, s.with(st, &worldv1.ScriptTurn{Say: uninformativeText}))
	for _, wrong := range s.wrongTexts(st) {
		s.addMutant(&experiment{
			name: st.text() + " with " + wrong.name, rule: ruleMutant, kind: lower, step: st,
			fault: fmt.Sprintf("the agent may say %q", wrong.value), remedy: remedy,
			part: st.text(), wrong: quote(wrong.value),
		}, s.with(st, &worldv1.ScriptTurn{Say: wrong.value}))
	}
}

// wrongTexts returns a text with other numbers and other names, if a milestone of the step wants
// any.
func (s *candidate) wrongTexts(st *step) []argument {
	var out []argument
	if text := otherDigits(st.say); text != st.say && s.expectsText(st, func(wanted string) bool { return strings.ContainsAny(wanted, "0123456789") }) {
		out = append(out, argument{name: "other numbers", value: text})
	}
	contacts := s.oracle.records(world.Contact, 0)
	for i, r := range contacts {
		name := r.text("name")
		if name == "" || !s.expectsText(st, func(wanted string) bool { return strings.Contains(wanted, name) }) {
			continue
		}
		other := contacts[(i+1)%len(contacts)].text("name")
		if text := strings.ReplaceAll(st.say, name, other); text != st.say {
			return append(out, argument{name: "another name", value: text})
		}
	}
	return out
}
