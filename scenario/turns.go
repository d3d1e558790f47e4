package scenario

import (
	"iter"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// ParseTurns reads a file with a list of turns, as in a scenario's script. Calls without an id keep
// none. It does not check tools and arguments. The error is of type document.Errors.
func ParseTurns(name string, data []byte) ([]*worldv1.ScriptTurn, error) {
	b := &builder{reader: newReader(&document.Reader{File: name}, world.Builtin(), nil), sources: map[string]*document.Value{}}
	docs := b.Documents(data)
	if len(docs) != 1 && len(b.Errors) == 0 {
		b.Fail(document.Top(), "expected one list of turns")
	}
	var turns []*worldv1.ScriptTurn
	for _, doc := range docs {
		turns = append(turns, b.turns(doc, form.Turn(), "")...)
	}
	if len(b.Errors) > 0 {
		return nil, b.Errors.AtMost(document.MaxMistakes)
	}
	return turns, nil
}

// script reads turns. It numbers calls without an id through the script: call_1, call_2, …
func (b *builder) script(v *document.Value, turn form.Form, path string) []*worldv1.ScriptTurn {
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
func (b *builder) turns(v *document.Value, of form.Form, path string) []*worldv1.ScriptTurn {
	var turns []*worldv1.ScriptTurn
	for _, item := range b.Items(v) {
		if b.object(item, of) != nil {
			turns = append(turns, b.turn(item, of, path+"["+strconv.Itoa(len(turns))+"]"))
		}
	}
	return turns
}

func (b *builder) turn(v *document.Value, of form.Form, at string) *worldv1.ScriptTurn {
	calls := form.Call()
	if of.Has(form.MilestoneKey) {
		calls = form.OracleCall()
	}
	b.recordSource(at, v)
	turn := &worldv1.ScriptTurn{Say: b.Text(v.Get("say"))}
	if end := v.Get("end"); b.CheckShape(end, document.ShapeBool) {
		if !end.Boolean {
			b.Fail(end, "is false; leave the turn out")
		}
		turn.Calls = endTurn().GetCalls()
	}
	for _, call := range b.Items(v.Get("calls")) {
		if read := b.call(call, calls, at+".calls["+strconv.Itoa(len(turn.GetCalls()))+"]"); read != nil {
			turn.Calls = append(turn.Calls, read)
		}
	}
	if list := v.Get("calls"); list != nil && list.Shape == document.ShapeList && len(list.List) == 0 {
		b.Fail(list, "is empty, expected at least one call")
	}
	return turn
}

// call reads one call, nil if it is not a mapping.
func (b *builder) call(v *document.Value, of form.Form, path string) *worldv1.ToolCall {
	if b.object(v, of) == nil {
		return nil
	}
	b.recordSource(path, v)
	b.recordSource(path+".id", v.Get("id"))
	b.recordSource(path+".tool", v.Get("tool"))
	b.recordSource(path+".arguments_json", v.Get("arguments"))
	call := &worldv1.ToolCall{Id: proto.String(b.Text(v.Get("id"))), Tool: b.Text(v.Get("tool")), ArgumentsJson: "{}"}
	if tool := v.Get("tool"); tool != nil && tool.Shape == document.ShapeText && tool.Text == "" {
		b.Fail(tool, "is empty, expected a tool's name")
	}
	if arguments := v.Get("arguments"); b.CheckShape(arguments, document.ShapeMapping) {
		call.ArgumentsJson = document.JSON(arguments)
	}
	return call
}
