package scenario

import (
	"iter"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Turns reads a file with a list of turns, as in a scenario's script. Calls without an id keep
// none. It does not check tools and arguments. The error is of type Errors.
func Turns(name string, data []byte) ([]*worldv1.ScriptTurn, error) {
	b := &builder{reader: newReader(name, nil), sources: map[string]*value{}}
	docs := b.documents(data)
	if len(docs) != 1 && len(b.errors) == 0 {
		b.fail(top(), "expected one list of turns")
	}
	var turns []*worldv1.ScriptTurn
	for _, doc := range docs {
		turns = append(turns, b.turns(doc, turnForm(), "")...)
	}
	if len(b.errors) > 0 {
		return nil, b.errors.atMost(maxMistakes)
	}
	return turns, nil
}

// script reads turns. It numbers calls without an id through the script: call_1, call_2, …
func (b *builder) script(v *value, turn form, path string) []*worldv1.ScriptTurn {
	turns := b.turns(v, turn, path)
	calls := 0
	for call := range Calls(turns...) {
		if call.GetId() == endCallID {
			continue
		}
		if calls++; call.GetId() == "" {
			call.Id = proto.String("call_" + strconv.Itoa(calls))
		}
	}
	return turns
}

// Calls iterates over the calls of turns.
func Calls(turns ...*worldv1.ScriptTurn) iter.Seq[*worldv1.ToolCall] {
	return func(yield func(*worldv1.ToolCall) bool) {
		for _, turn := range turns {
			for _, call := range turn.GetCalls() {
				if !yield(call) {
					return
				}
			}
		}
	}
}

// hasCall reports whether a turn calls a tool.
func hasCall(turn *worldv1.ScriptTurn, tool string) bool {
	return slices.ContainsFunc(turn.GetCalls(), func(call *worldv1.ToolCall) bool { return call.GetTool() == tool })
}

// turns reads turns. path is their path in the canonical form.
func (b *builder) turns(v *value, form form, path string) []*worldv1.ScriptTurn {
	var turns []*worldv1.ScriptTurn
	for _, item := range b.items(v) {
		if b.object(item, form) != nil {
			turns = append(turns, b.turn(item, form, path+"["+strconv.Itoa(len(turns))+"]"))
		}
	}
	return turns
}

func (b *builder) turn(v *value, form form, at string) *worldv1.ScriptTurn {
	calls := callForm()
	if form.has(milestoneKey) {
		calls = oracleCallForm()
	}
	b.recordSource(at, v)
	turn := &worldv1.ScriptTurn{Say: b.text(v.get("say"))}
	if end := v.get("end"); b.checkShape(end, shapeBool) {
		if !end.boolean {
			b.fail(end, "is false; leave the turn out")
		}
		turn.Calls = endTurn().GetCalls()
	}
	for _, call := range b.items(v.get("calls")) {
		if read := b.call(call, calls, at+".calls["+strconv.Itoa(len(turn.GetCalls()))+"]"); read != nil {
			turn.Calls = append(turn.Calls, read)
		}
	}
	if list := v.get("calls"); list != nil && list.shape == shapeList && len(list.list) == 0 {
		b.fail(list, "is empty, expected at least one call")
	}
	return turn
}

// call reads one call, nil if it is not a mapping.
func (b *builder) call(v *value, form form, path string) *worldv1.ToolCall {
	if b.object(v, form) == nil {
		return nil
	}
	b.recordSource(path, v)
	b.recordSource(path+".id", v.get("id"))
	b.recordSource(path+".tool", v.get("tool"))
	b.recordSource(path+".arguments_json", v.get("arguments"))
	call := &worldv1.ToolCall{Id: proto.String(b.text(v.get("id"))), Tool: b.text(v.get("tool")), ArgumentsJson: "{}"}
	if tool := v.get("tool"); tool != nil && tool.shape == shapeText && tool.text == "" {
		b.fail(tool, "is empty, expected a tool's name")
	}
	if arguments := v.get("arguments"); b.checkShape(arguments, shapeMapping) {
		call.ArgumentsJson = jsonText(arguments)
	}
	return call
}
