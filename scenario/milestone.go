package scenario

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
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
func (b *builder) milestones(v *value) []field {
	listed := b.nodeEntries(v.get("milestones"))
	turns := b.turnMilestones(v.get("oracle"), listed)
	var whole []field
	for _, node := range listed {
		if !hasOnlyOrder(node.value) {
			whole = append(whole, node)
			continue
		}
		at := slices.IndexFunc(turns, func(turn field) bool { return turn.key == node.key })
		if at < 0 {
			b.fail(node.position, "no turn of the oracle has this milestone; say what it wants, as in %s: {call: search_contacts}%s",
				node.key, spelling.DidYouMean(node.key, fieldNames(turns)))
			continue
		}
		carried := *turns[at].value
		carried.fields = slices.Concat(node.value.fields, carried.fields)
		whole = append(whole, field{key: node.key, position: node.position, value: &carried})
		turns = slices.Delete(turns, at, at+1)
	}
	return append(whole, turns...)
}

// nodeEntries returns the entries of milestones or minefields in file order.
func (b *builder) nodeEntries(v *value) []field {
	if v != nil && v.shape == shapeList {
		b.fail(v, "is a list, expected a mapping from names to what is wanted")
		return nil
	}
	if !b.checkShape(v, shapeMapping) {
		return nil
	}
	for _, f := range v.fields {
		if f.key == "" {
			b.fail(f.position, "is empty, expected a name")
		}
	}
	return v.fields
}

// orderFields are the fields of a milestone that do not define its constraints.
var orderFields = []string{"after", "guardrails"}

// hasOnlyOrder reports whether a milestone has only order and guardrails. A turn of the oracle
// defines its constraints.
func hasOnlyOrder(v *value) bool {
	return v.shape == shapeNull || v.shape == shapeMapping &&
		!slices.ContainsFunc(v.fields, func(f field) bool { return !slices.Contains(orderFields, f.key) })
}

func fieldNames(fields []field) []string {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].key
	}
	return names
}

// turnMilestones returns the milestones of the oracle's turns and calls by name, in the form of
// listed ones. The last text has one by default unless its name is taken.
func (b *builder) turnMilestones(oracle *value, listed []field) []field {
	var found []field
	if oracle == nil || oracle.shape != shapeList {
		return nil // script records the mistake
	}
	for i, turn := range oracle.list {
		if turn.shape != shapeMapping {
			continue
		}
		last := i == len(oracle.list)-1 && turn.get("say") != nil
		if name := turn.get(milestoneKey); name == nil && last {
			found = b.addToldMilestone(found, turn, listed)
		} else if last && name.text == noMilestone {
			continue
		}
		found = b.addMilestone(found, turn, func(name *value) (field, bool) { return b.turnConstraint(turn, name) })
		calls := turn.get(callsKey)
		if calls == nil || calls.shape != shapeList {
			continue
		}
		for _, call := range calls.list {
			found = b.addMilestone(found, call, func(*value) (field, bool) { return callConstraint(call, call.get(tolerancesKey)) })
		}
	}
	return found
}

// addToldMilestone adds the default milestone of the oracle's last text unless its name is taken.
func (b *builder) addToldMilestone(found []field, turn *value, listed []field) []field {
	isTold := func(f field) bool { return f.key == toldMilestone }
	say := turn.get("say")
	if say.shape != shapeText || slices.ContainsFunc(found, isTold) ||
		slices.ContainsFunc(listed, func(f field) bool { return isTold(f) && !hasOnlyOrder(f.value) }) {
		return found
	}
	return append(found, turnMilestone(toldMilestone, say, turn, field{key: "says", position: say, value: say}))
}

// turnMilestone returns the constraint of a turn or call under the milestone's name.
func turnMilestone(name string, position, turn *value, wanted field) field {
	return field{key: name, position: position, value: &value{
		shape: shapeMapping, path: turn.path, line: turn.line, column: turn.column, fields: []field{wanted},
	}}
}

// addMilestone adds the milestone of a turn or call, if it has one.
func (b *builder) addMilestone(found []field, v *value, constraint func(name *value) (field, bool)) []field {
	name := v.get(milestoneKey)
	if tolerances := v.get(tolerancesKey); name == nil && tolerances != nil {
		b.fail(tolerances, "belongs to a milestone; write milestone: and its name beside it")
	}
	if !b.checkShape(name, shapeText) {
		return found
	}
	if name.text == noMilestone {
		b.fail(name, "only the last text of the oracle is a milestone by itself; leave it out here")
		return found
	}
	wanted, ok := constraint(name)
	if !ok {
		return found
	}
	return append(found, turnMilestone(name.text, name, v, wanted))
}

// turnConstraint returns the constraint of a turn: its text, or its only call with the arguments.
// script reports mistakes in the text or the call itself.
func (b *builder) turnConstraint(turn, at *value) (field, bool) {
	if say := turn.get("say"); say != nil {
		if tolerances := turn.get(tolerancesKey); tolerances != nil {
			b.fail(tolerances, "belongs to a call, and a text has none")
		}
		return field{key: "says", position: say, value: say}, say.shape == shapeText
	}
	calls := turn.get(callsKey)
	if calls == nil || calls.shape != shapeList || len(calls.list) != 1 {
		b.fail(at, "needs a turn that says something or makes one call; write the milestone beside one of the calls")
		return field{}, false
	}
	return callConstraint(calls.list[0], turn.get(tolerancesKey))
}

// callConstraint returns the constraint of a call, with tolerances.
func callConstraint(call, tolerances *value) (field, bool) {
	wanted := *call
	wanted.fields = nil
	for _, key := range []string{toolKey, argumentsKey} {
		if argument := call.get(key); argument != nil {
			wanted.fields = append(wanted.fields, field{key: key, position: argument, value: argument})
		}
	}
	if tolerances != nil {
		wanted.fields = append(wanted.fields, field{key: tolerancesKey, position: tolerances, value: tolerances})
	}
	tool := wanted.get(toolKey)
	return field{key: "call", position: &wanted, value: &wanted}, tool != nil && tool.shape == shapeText
}
