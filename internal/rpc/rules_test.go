//go:build !race

package rpc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

// TestSatisfiesRules compares the generated checks of requests with protovalidate: with each field
// at its limits, a request that satisfies its rules is valid. Valid requests of each turn satisfy
// them.
func TestSatisfiesRules(t *testing.T) {
	validator, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	scripted := turn(conversation(2))
	scripted.Player = &agentgwv1.Player{Name: "oracle", Kind: &agentgwv1.Player_Scripted{Scripted: &agentgwv1.Scripted{Source: agentgwv1.Scripted_SOURCE_SCENARIO}}}
	execute := &toolhostv1.ExecuteRequest{SessionId: "s.0", Calls: conversation(1), Now: proto.Float64(1)}
	requests := []proto.Message{scripted, turn(conversation(2)), execute}
	for _, request := range requests {
		if !satisfiesRules(request) {
			t.Errorf("%v: the rules are not satisfied, want a valid request", request)
		}
	}
	for _, method := range calls() {
		different := []proto.Message{newMessage(t, method.Input())}
		for member := range 5 {
			filled := newMessage(t, method.Input())
			fill(filled.ProtoReflect(), member, 3)
			if !slices.ContainsFunc(different, func(m proto.Message) bool { return proto.Equal(m, filled) }) {
				different = append(different, filled)
			}
		}
		requests = append(requests, different...)
	}
	satisfied, broken := 0, 0
	for _, request := range requests {
		for _, changed := range append(extremes(request), request) {
			if !satisfiesRules(changed) {
				broken++
				continue
			}
			satisfied++
			if err := validator.Validate(changed); err != nil {
				t.Errorf("%v satisfies its rules, but %v", changed, err)
			}
		}
	}
	if satisfied < 100 || broken < 100 {
		t.Errorf("requests that satisfy their rules and that break one: got %d and %d, want at least 100 each", satisfied, broken)
	}
}

// BenchmarkValidate validates the request for a turn after a short and a long conversation.
func BenchmarkValidate(b *testing.B) {
	g := &guard{}
	for _, n := range []int{10, 400} {
		request := turn(conversation(n))
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			for b.Loop() {
				if err := g.validate(request); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// extremes returns copies of a message, each with one field cleared or set to a value that rules
// may forbid.
func extremes(message proto.Message) (all []proto.Message) {
	with := func(change func(m protoreflect.Message)) {
		changed := proto.CloneOf(message)
		change(changed.ProtoReflect())
		all = append(all, changed)
	}
	fields := message.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		with(func(m protoreflect.Message) { m.Clear(field) })
		switch {
		case field.IsMap():
		case field.Message() != nil && message.ProtoReflect().Has(field):
			inner := message.ProtoReflect().Get(field)
			if field.IsList() {
				inner = inner.List().Get(0)
			}
			for _, changed := range extremes(inner.Message().Interface()) {
				with(func(m protoreflect.Message) {
					if field.IsList() {
						m.Mutable(field).List().Set(0, protoreflect.ValueOfMessage(changed.ProtoReflect()))
					} else {
						m.Set(field, protoreflect.ValueOfMessage(changed.ProtoReflect()))
					}
				})
			}
		case field.Message() != nil:
			with(func(m protoreflect.Message) {
				if field.IsList() {
					m.Mutable(field).List().AppendMutable()
				} else {
					fill(m.Mutable(field).Message(), 0, 1)
				}
			})
		default:
			for _, value := range forbidden(field) {
				with(func(m protoreflect.Message) {
					if field.IsList() {
						m.Mutable(field).List().Append(value)
					} else {
						m.Set(field, value)
					}
				})
			}
		}
	}
	return all
}

// forbidden returns values of a kind of field that rules may forbid.
func forbidden(field protoreflect.FieldDescriptor) (values []protoreflect.Value) {
	switch field.Kind() {
	case protoreflect.StringKind:
		for _, text := range []string{
			"", ".", "a.", ".a", "a..b", "a b", "é", "a/b", "a:b", "a@", "a[", "a\x00", strings.Repeat("a", 65), strings.Repeat("a", 101), strings.Repeat("a", 201),
		} {
			values = append(values, protoreflect.ValueOfString(text))
		}
	case protoreflect.BytesKind:
		values = append(values, protoreflect.ValueOfBytes(make([]byte, 33)))
	case protoreflect.EnumKind:
		for number := range protoreflect.EnumNumber(9) {
			values = append(values, protoreflect.ValueOfEnum(number-1))
		}
	case protoreflect.Int32Kind:
		values = append(values, protoreflect.ValueOfInt32(-1))
	case protoreflect.Int64Kind:
		values = append(values, protoreflect.ValueOfInt64(-1))
	}
	return values
}
