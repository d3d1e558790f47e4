package prove

import (
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/parameter"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// maxTriggers is the number of ways to trigger a minefield that are tried.
const maxTriggers = 16

// planTriggers plans to trigger each minefield.
func (s *candidate) planTriggers() {
	for i, node := range s.scenario.GetEvaluation().GetMinefields().GetNodes() {
		scripts := s.givenTriggers(i)
		if scripts == nil {
			scripts = s.derivedTriggers(node)
		}
		if len(scripts) == 0 {
			s.fail(ruleMinefield, "write triggered_by for %s: its constraints suggest none", nodeText(node, i))
		}
		for n, script := range scripts[:min(len(scripts), maxTriggers)] {
			e := s.add(&experiment{
				name: fmt.Sprintf("trigger %d of %s", n+1, nodeText(node, i)), rule: ruleMinefield, kind: triggers, minefield: i,
			}, s.scenario, script)
			setup := e.scenario.GetSetup()
			setup.MaxMessages += extraMessages
			allowAll(setup)
			// Only some variants may have the tool of a minefield.
			if setup.GetTools() != nil {
				setup.Tools.Augmentations = []setupv1.Augmentation{setupv1.Augmentation_AUGMENTATION_ALL_TOOLS}
			}
		}
	}
}

// givenTriggers returns the triggered_by script of a minefield, or nil.
func (s *candidate) givenTriggers(minefield int) [][]*worldv1.ScriptTurn {
	for _, trigger := range s.scenario.GetProof().GetTriggers() {
		if int(trigger.GetMinefield()) == minefield {
			return [][]*worldv1.ScriptTurn{trigger.GetTurns()}
		}
	}
	return nil
}

// derivedTriggers returns the oracle's script with an addition that a minefield's constraints
// suggest: at the beginning, or before the oracle's last text.
func (s *candidate) derivedTriggers(node *evaluationv1.Node) [][]*worldv1.ScriptTurn {
	script := s.scenario.GetSetup().GetOracleScript()
	var out [][]*worldv1.ScriptTurn
	for _, c := range node.GetConstraints() {
		for n, turn := range s.steps(c) {
			for i := range turn.GetCalls() {
				turn.Calls[i] = renamed(turn.GetCalls()[i], "call_trip_"+strconv.Itoa(n)+"_"+strconv.Itoa(i))
			}
			out = append(out, slices.Insert(slices.Clone(script), 0, turn))
			if at := s.oracle.lastSay(); at > 0 {
				out = append(out, slices.Insert(slices.Clone(script), at, turn))
			}
		}
	}
	return out
}

// steps returns turns that may meet a constraint.
func (s *candidate) steps(c *evaluationv1.Constraint) []*worldv1.ScriptTurn {
	var calls []*worldv1.ToolCall
	var out []*worldv1.ScriptTurn
	for _, text := range texts(&evaluationv1.Node{Constraints: []*evaluationv1.Constraint{c}}) {
		out = append(out, &worldv1.ScriptTurn{Say: text})
	}
	for _, t := range evaluation.WantedTraces(c) {
		var arguments []argument
		if info := s.tools[t.Tool]; info != nil {
			for _, p := range info.parameters {
				if value, ok := t.Arguments.Get(p.Name); ok {
					arguments = append(arguments, argument{p.Name, python.JSON(value)})
				}
			}
		}
		calls = append(calls, s.filled(t.Tool, arguments)...)
	}
	for _, row := range c.GetTarget() {
		calls = append(calls, s.changes(c, row)...)
	}
	for _, call := range calls {
		out = append(out, &worldv1.ScriptTurn{Calls: []*worldv1.ToolCall{call}})
	}
	return out
}

// changes returns calls that may add or remove a row.
func (s *candidate) changes(c *evaluationv1.Constraint, row *evaluationv1.TargetRow) []*worldv1.ToolCall {
	if c.GetTable() == tableSetting {
		var calls []*worldv1.ToolCall
		for _, cell := range row.GetCells() {
			if on, ok := cell.GetValue().GetKind().(*worldv1.Value_Boolean); ok {
				calls = append(calls, callOf(setter(cell.GetColumn()), boolean("on", on.Boolean)))
			}
		}
		return calls
	}
	verbs := map[evaluationv1.SnapshotMeasure]string{
		evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_ADDITION: "add", evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_REMOVAL: "remove",
		evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_UPDATE: "modify",
	}
	verb := verbs[c.GetMeasure()]
	var tool string
	switch {
	case verb == "":
		return nil
	case c.GetTable() == tableContact:
		tool = verb + "_contact"
	case c.GetTable() == tableReminder:
		tool = verb + "_reminder"
	case c.GetTable() == tableMessaging && verb == "add":
		tool = "send_message_with_phone_number"
	default:
		return nil
	}
	arguments := s.rowArguments(tool, row)
	if verb == "add" {
		return s.filled(tool, arguments)
	}
	id := "person_id"
	if c.GetTable() == tableReminder {
		id = "reminder_id"
	}
	arguments = slices.DeleteFunc(arguments, func(a argument) bool { return a.name == id || verb == "remove" })
	var calls []*worldv1.ToolCall
	for _, r := range s.oracle.records(c.GetTable(), 0) {
		if mayMatch(r, row, verb == "remove") {
			calls = append(calls, s.filled(tool, append([]argument{text(id, r.text(id))}, arguments...))...)
		}
	}
	return calls
}

// rowArguments returns the cells of a wanted row as arguments of a tool.
func (s *candidate) rowArguments(tool string, row *evaluationv1.TargetRow) []argument {
	var out []argument
	info := s.tools[tool]
	if info == nil {
		return nil
	}
	for _, cell := range row.GetCells() {
		name := cell.GetColumn()
		if name == "recipient_phone_number" {
			name = "phone_number"
		}
		if !slices.ContainsFunc(info.parameters, func(p parameter.Parameter) bool { return p.Name == name }) {
			continue
		}
		switch v := cell.GetValue().GetKind().(type) {
		case *worldv1.Value_Text:
			out = append(out, text(name, v.Text))
		case *worldv1.Value_Number:
			out = append(out, argument{name, strconv.FormatFloat(v.Number, 'f', -1, 64)})
		case *worldv1.Value_Boolean:
			out = append(out, boolean(name, v.Boolean))
		}
	}
	return out
}

// mayMatch returns whether a row may be the wanted one: equal ids and, for a row that stays, equal
// cells.
func mayMatch(r rowByColumn, row *evaluationv1.TargetRow, all bool) bool {
	for _, cell := range row.GetCells() {
		name := cell.GetColumn()
		if (all || name == "person_id" || name == "reminder_id") && name != "content" && name != "relationship" &&
			!proto.Equal(r[name], cell.GetValue()) {
			return false
		}
	}
	return true
}
