package scenario

import "slices"

// milestones returns the list of milestones with those of the oracle's turns: where the list has
// their names, alone or with what they come after, the others behind it in the order of the turns.
// Nil if there are none.
func (b *builder) milestones(v *value) *value {
	list := v.get("milestones")
	turns := b.turnMilestones(v.get("oracle"))
	if list != nil && list.shape != shapeList {
		return list
	}
	if list == nil && len(turns) == 0 {
		return nil
	}
	whole := &value{shape: shapeList, path: "milestones", line: v.line, column: v.column}
	if list != nil {
		whole.line, whole.column = list.line, list.column
		for _, item := range list.list {
			if item.shape == shapeText {
				item, turns = b.takeTurn(item, turns)
			} else if at := carriedBy(item, turns); at >= 0 {
				// The first field of a turn's milestone is its name, the second what it wants.
				item.fields = append(item.fields, turns[at].node.fields[1])
				turns = slices.Delete(slices.Clone(turns), at, at+1)
			}
			if item != nil {
				whole.list = append(whole.list, item)
			}
		}
	}
	for _, turn := range turns {
		whole.list = append(whole.list, turn.node)
	}
	return whole
}

// carriedBy returns which turn carries a milestone that says only when it comes and what guards it,
// -1 if none does.
func carriedBy(item *value, turns []turnMilestone) int {
	for _, f := range item.fields {
		if !slices.Contains(orderFields, f.key) {
			return -1
		}
	}
	name := item.get("name")
	return slices.IndexFunc(turns, func(turn turnMilestone) bool { return name != nil && turn.name == name.text })
}

// orderFields are the fields of a milestone that do not say what it wants.
var orderFields = []string{"name", "after", "guardrails"}

// turnMilestone is the milestone of a turn: its name and the same as if it were written in the
// list.
type turnMilestone struct {
	name string
	node *value
}

// takeTurn returns the milestone of the turn that a text names, and the others; nil after recording
// a mistake.
func (b *builder) takeTurn(v *value, turns []turnMilestone) (*value, []turnMilestone) {
	var names []string
	for i, turn := range turns {
		if turn.name == v.text {
			return turn.node, append(turns[:i:i], turns[i+1:]...)
		}
		names = append(names, turn.name)
	}
	b.fail(v, "no turn of the oracle has the milestone %q, or it stands here twice%s", v.text, hint(v.text, names))
	return nil, turns
}

// turnMilestones returns the milestones of the oracle's turns and of the calls in them.
func (b *builder) turnMilestones(oracle *value) []turnMilestone {
	var found []turnMilestone
	if oracle == nil || oracle.shape != shapeList {
		return nil // the script has recorded what is wrong
	}
	for _, turn := range oracle.list {
		if turn.shape != shapeMapping {
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

// carried adds the milestone that a turn or a call carries, if it does.
func (b *builder) carried(found []turnMilestone, v *value, constraint func(name *value) (field, bool)) []turnMilestone {
	name := v.get(milestoneKey)
	if tolerances := v.get(tolerancesKey); name == nil && tolerances != nil {
		b.fail(tolerances, "belongs to a milestone; write milestone: and its name beside it")
	}
	if !b.want(name, shapeText) {
		return found
	}
	wanted, ok := constraint(name)
	if !ok {
		return found
	}
	return append(found, turnMilestone{name.text, &value{
		shape: shapeMapping, path: v.path, line: v.line, column: v.column,
		fields: []field{{key: "name", place: name, value: name}, wanted},
	}})
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
