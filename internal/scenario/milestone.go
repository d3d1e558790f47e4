package scenario

import "slices"

// noMilestone says that the oracle's last text is no milestone, toldMilestone is what it is called
// otherwise.
const (
	noMilestone   = "none"
	toldMilestone = "told"
)

// milestones returns the milestones by name with those of the oracle's turns: where the mapping has
// their names, alone or with what they come after, the others behind it in the order of the turns.
func (b *builder) milestones(v *value) []field {
	listed := b.named(v.get("milestones"))
	turns := b.turnMilestones(v.get("oracle"), listed)
	var whole []field
	for _, node := range listed {
		if !ordersOnly(node.value) {
			whole = append(whole, node)
			continue
		}
		at := slices.IndexFunc(turns, func(turn field) bool { return turn.key == node.key })
		if at < 0 {
			b.fail(node.place, "no turn of the oracle has this milestone; say what it wants, as in %s: {call: search_contacts}%s",
				node.key, didYouMean(node.key, fieldNames(turns)))
			continue
		}
		carried := *turns[at].value
		carried.fields = slices.Concat(node.value.fields, carried.fields)
		whole = append(whole, field{key: node.key, place: node.place, value: &carried})
		turns = slices.Delete(turns, at, at+1)
	}
	return append(whole, turns...)
}

// named returns the entries of milestones or minefields, in written order.
func (b *builder) named(v *value) []field {
	if v != nil && v.shape == shapeList {
		b.fail(v, "is a list, expected a mapping from names to what is wanted; toolsandbox scenario fmt --upgrade writes it so")
		return nil
	}
	if !b.want(v, shapeMapping) {
		return nil
	}
	for _, f := range v.fields {
		if f.key == "" {
			b.fail(f.place, "is empty, expected a name")
		}
	}
	return v.fields
}

// orderFields are the fields of a milestone that do not say what it wants.
var orderFields = []string{"after", "guardrails"}

// ordersOnly says whether a milestone says at most when it comes and what guards it. What it wants
// is left to a turn of the oracle.
func ordersOnly(v *value) bool {
	return v.shape == shapeNull || v.shape == shapeMapping &&
		!slices.ContainsFunc(v.fields, func(f field) bool { return !slices.Contains(orderFields, f.key) })
}

// fieldNames returns the keys of fields.
func fieldNames(fields []field) []string {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].key
	}
	return names
}

// turnMilestones returns the milestones of the oracle's turns and of the calls in them by name, the
// same as if they were listed with the others. The last text has one by itself unless its name is
// taken.
func (b *builder) turnMilestones(oracle *value, listed []field) []field {
	var found []field
	if oracle == nil || oracle.shape != shapeList {
		return nil // the script has recorded what is wrong
	}
	for i, turn := range oracle.list {
		if turn.shape != shapeMapping {
			continue
		}
		last := i == len(oracle.list)-1 && turn.get("say") != nil
		if name := turn.get(milestoneKey); name == nil && last {
			found = b.toldLast(found, turn, listed)
		} else if last && name.text == noMilestone {
			continue
		}
		found = b.carried(found, turn, func(name *value) (field, bool) { return b.turnConstraint(turn, name) })
		calls := turn.get(callsKey)
		if calls == nil || calls.shape != shapeList {
			continue
		}
		for _, call := range calls.list {
			found = b.carried(found, call, func(*value) (field, bool) { return callConstraint(call, call.get(tolerancesKey)) })
		}
	}
	return found
}

// toldLast adds the milestone that the oracle's last text is by itself, unless another one has its
// name.
func (b *builder) toldLast(found []field, turn *value, listed []field) []field {
	isTold := func(f field) bool { return f.key == toldMilestone }
	say := turn.get("say")
	if say.shape != shapeText || slices.ContainsFunc(found, isTold) ||
		slices.ContainsFunc(listed, func(f field) bool { return isTold(f) && !ordersOnly(f.value) }) {
		return found
	}
	return append(found, turnMilestone(toldMilestone, say, turn, field{key: "says", place: say, value: say}))
}

// turnMilestone returns what a turn or a call wants, under the name of its milestone.
func turnMilestone(name string, place, turn *value, wanted field) field {
	return field{key: name, place: place, value: &value{
		shape: shapeMapping, path: turn.path, line: turn.line, column: turn.column, fields: []field{wanted},
	}}
}

// carried adds the milestone that a turn or a call carries, if it does.
func (b *builder) carried(found []field, v *value, constraint func(name *value) (field, bool)) []field {
	name := v.get(milestoneKey)
	if tolerances := v.get(tolerancesKey); name == nil && tolerances != nil {
		b.fail(tolerances, "belongs to a milestone; write milestone: and its name beside it")
	}
	if !b.want(name, shapeText) {
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

// turnConstraint returns what follows from a turn: its text is said, or its one call is made with
// its arguments. What is wrong with the text or the call itself is left to the script.
func (b *builder) turnConstraint(turn, at *value) (field, bool) {
	if say := turn.get("say"); say != nil {
		if tolerances := turn.get(tolerancesKey); tolerances != nil {
			b.fail(tolerances, "belongs to a call, and a text has none")
		}
		return field{key: "says", place: say, value: say}, say.shape == shapeText
	}
	calls := turn.get(callsKey)
	if calls == nil || calls.shape != shapeList || len(calls.list) != 1 {
		b.fail(at, "needs a turn that says something or makes one call; write the milestone beside one of the calls")
		return field{}, false
	}
	return callConstraint(calls.list[0], turn.get(tolerancesKey))
}

// callConstraint returns what follows from a call, with the tolerances that are accepted.
func callConstraint(call, tolerances *value) (field, bool) {
	wanted := *call
	wanted.fields = nil
	for _, key := range []string{toolKey, argumentsKey} {
		if held := call.get(key); held != nil {
			wanted.fields = append(wanted.fields, field{key: key, place: held, value: held})
		}
	}
	if tolerances != nil {
		wanted.fields = append(wanted.fields, field{key: tolerancesKey, place: tolerances, value: tolerances})
	}
	tool := wanted.get(toolKey)
	return field{key: "call", place: &wanted, value: &wanted}, tool != nil && tool.shape == shapeText
}
