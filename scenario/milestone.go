package scenario

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// noMilestone marks that the oracle's last text is not a milestone. toldMilestone is the default
// name of that milestone.
const (
	noMilestone   = "none"
	toldMilestone = "told"
)

// milestones returns the milestones by name, including those of the oracle's turns. A turn's
// milestone is at its place in the mapping if that names it; the others follow in the order of
// turns.
func (b *builder) milestones(v *document.Value) []document.Field {
	listed := b.nodeEntries(v.Get("milestones"))
	turns := b.turnMilestones(v.Get("oracle"), listed)
	var whole []document.Field
	for _, node := range listed {
		if !hasOnlyOrder(node.Value) {
			whole = append(whole, node)
			continue
		}
		at := slices.IndexFunc(turns, func(turn document.Field) bool { return turn.Key == node.Key })
		if at < 0 {
			b.Fail(node.Position, "no turn of the oracle has this milestone; say what it wants, as in %s: {call: search_contacts}%s",
				node.Key, spelling.DidYouMean(node.Key, fieldNames(turns)))
			continue
		}
		carried := *turns[at].Value
		carried.Fields = slices.Concat(node.Value.Fields, carried.Fields)
		whole = append(whole, document.Field{Key: node.Key, Position: node.Position, Value: &carried})
		turns = slices.Delete(turns, at, at+1)
	}
	return append(whole, turns...)
}

// nodeEntries returns the entries of milestones or minefields in file order.
func (b *builder) nodeEntries(v *document.Value) []document.Field {
	if v != nil && v.Shape == document.ShapeList {
		b.Fail(v, "is a list, expected a mapping from names to what is wanted")
		return nil
	}
	if !b.CheckShape(v, document.ShapeMapping) {
		return nil
	}
	for _, f := range v.Fields {
		if f.Key == "" {
			b.Fail(f.Position, "is empty, expected a name")
		}
	}
	return v.Fields
}

// orderFields are the fields of a milestone that do not define its constraints.
var orderFields = []string{"after", "guardrails"}

// hasOnlyOrder reports whether a milestone has only order and guardrails. A turn of the oracle
// defines its constraints.
func hasOnlyOrder(v *document.Value) bool {
	return v.Shape == document.ShapeNull || v.Shape == document.ShapeMapping &&
		!slices.ContainsFunc(v.Fields, func(f document.Field) bool { return !slices.Contains(orderFields, f.Key) })
}

func fieldNames(fields []document.Field) []string {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].Key
	}
	return names
}

// turnMilestones returns the milestones of the oracle's turns and calls by name, in the form of
// listed ones. The last text has one by default unless its name is taken.
func (b *builder) turnMilestones(oracle *document.Value, listed []document.Field) []document.Field {
	var found []document.Field
	if oracle == nil || oracle.Shape != document.ShapeList {
		return nil // script records the mistake
	}
	for i, turn := range oracle.List {
		if turn.Shape != document.ShapeMapping {
			continue
		}
		last := i == len(oracle.List)-1 && turn.Get("say") != nil
		if name := turn.Get(form.MilestoneKey); name == nil && last {
			found = b.addToldMilestone(found, turn, listed)
		} else if last && name.Text == noMilestone {
			continue
		}
		found = b.addMilestone(found, turn, func(name *document.Value) (document.Field, bool) { return b.turnConstraint(turn, name) })
		calls := turn.Get(form.CallsKey)
		if calls == nil || calls.Shape != document.ShapeList {
			continue
		}
		for _, call := range calls.List {
			found = b.addMilestone(found, call, func(*document.Value) (document.Field, bool) {
				return callConstraint(call, call.Get(form.TolerancesKey))
			})
		}
	}
	return found
}

// addToldMilestone adds the default milestone of the oracle's last text unless its name is taken.
func (b *builder) addToldMilestone(found []document.Field, turn *document.Value, listed []document.Field) []document.Field {
	isTold := func(f document.Field) bool { return f.Key == toldMilestone }
	say := turn.Get("say")
	if say.Shape != document.ShapeText || slices.ContainsFunc(found, isTold) ||
		slices.ContainsFunc(listed, func(f document.Field) bool { return isTold(f) && !hasOnlyOrder(f.Value) }) {
		return found
	}
	return append(found, turnMilestone(toldMilestone, say, turn, document.Field{Key: "says", Position: say, Value: say}))
}

// turnMilestone returns the constraint of a turn or call under the milestone's name.
func turnMilestone(name string, position, turn *document.Value, wanted document.Field) document.Field {
	return document.Field{Key: name, Position: position, Value: &document.Value{
		Shape: document.ShapeMapping, Path: turn.Path, Line: turn.Line, Column: turn.Column, Fields: []document.Field{wanted},
	}}
}

// addMilestone adds the milestone of a turn or call, if it has one.
func (b *builder) addMilestone(found []document.Field, v *document.Value, constraint func(name *document.Value) (document.Field, bool)) []document.Field {
	name := v.Get(form.MilestoneKey)
	if tolerances := v.Get(form.TolerancesKey); name == nil && tolerances != nil {
		b.Fail(tolerances, "belongs to a milestone; write milestone: and its name beside it")
	}
	if !b.CheckShape(name, document.ShapeText) {
		return found
	}
	if name.Text == noMilestone {
		b.Fail(name, "only the last text of the oracle is a milestone by itself; leave it out here")
		return found
	}
	wanted, ok := constraint(name)
	if !ok {
		return found
	}
	return append(found, turnMilestone(name.Text, name, v, wanted))
}

// turnConstraint returns the constraint of a turn: its text, or its only call with the arguments.
// script reports mistakes in the text or the call itself.
func (b *builder) turnConstraint(turn, at *document.Value) (document.Field, bool) {
	if say := turn.Get("say"); say != nil {
		if tolerances := turn.Get(form.TolerancesKey); tolerances != nil {
			b.Fail(tolerances, "belongs to a call, and a text has none")
		}
		return document.Field{Key: "says", Position: say, Value: say}, say.Shape == document.ShapeText
	}
	calls := turn.Get(form.CallsKey)
	if calls == nil || calls.Shape != document.ShapeList || len(calls.List) != 1 {
		b.Fail(at, "needs a turn that says something or makes one call; write the milestone beside one of the calls")
		return document.Field{}, false
	}
	return callConstraint(calls.List[0], turn.Get(form.TolerancesKey))
}

// callConstraint returns the constraint of a call, with tolerances.
func callConstraint(call, tolerances *document.Value) (document.Field, bool) {
	wanted := *call
	wanted.Fields = nil
	for _, key := range []string{form.ToolKey, form.ArgumentsKey} {
		if argument := call.Get(key); argument != nil {
			wanted.Fields = append(wanted.Fields, document.Field{Key: key, Position: argument, Value: argument})
		}
	}
	if tolerances != nil {
		wanted.Fields = append(wanted.Fields, document.Field{Key: form.TolerancesKey, Position: tolerances, Value: tolerances})
	}
	tool := wanted.Get(form.ToolKey)
	return document.Field{Key: "call", Position: &wanted, Value: &wanted}, tool != nil && tool.Shape == document.ShapeText
}
