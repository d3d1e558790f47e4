package rpc

import (
	"math/rand/v2"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// fill sets all fields of a message and of nested ones down to a depth. It sets the member of each
// oneof with the given number, counted over all members.
func fill(m protoreflect.Message, member, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if oneof := field.ContainingOneof(); oneof != nil && !oneof.IsSynthetic() {
			if members := oneof.Fields(); members.Get(member%members.Len()) != field {
				continue
			}
		}
		if field.Message() != nil && depth == 0 {
			continue
		}
		value := func(of protoreflect.Value) protoreflect.Value {
			switch field.Kind() {
			case protoreflect.MessageKind:
				fill(of.Message(), member, depth-1)
				return of
			case protoreflect.StringKind:
				return protoreflect.ValueOfString(strings.Repeat("é", 70))
			case protoreflect.BytesKind:
				return protoreflect.ValueOfBytes([]byte("raw"))
			case protoreflect.BoolKind:
				return protoreflect.ValueOfBool(true)
			case protoreflect.EnumKind:
				return protoreflect.ValueOfEnum(-1) // the longest
			case protoreflect.Int32Kind:
				return protoreflect.ValueOfInt32(-1)
			case protoreflect.Int64Kind:
				return protoreflect.ValueOfInt64(-1)
			case protoreflect.DoubleKind:
				return protoreflect.ValueOfFloat64(1.5)
			default:
				panic("no value for " + field.FullName())
			}
		}
		switch {
		case field.IsMap():
			panic("no value for " + field.FullName())
		case field.IsList():
			list := m.Mutable(field).List()
			for range 2 {
				list.Append(value(list.NewElement()))
			}
		default:
			m.Set(field, value(m.NewField(field)))
		}
	}
}

// TestCopiesAreWhole checks that a copy of a conversation's message has all fields and its own
// lists and bytes.
func TestCopiesAreWhole(t *testing.T) {
	for _, message := range []proto.Message{
		&agentgwv1.RespondRequest{}, &agentgwv1.RespondResponse{}, &toolhostv1.ExecuteRequest{}, &toolhostv1.ExecuteResponse{},
		&toolhostv1.CreateSessionResponse{},
	} {
		for member := range 5 { // the largest number of a oneof's members
			proto.Reset(message)
			fill(message.ProtoReflect(), member, 4)
			before := proto.CloneOf(message)
			copied, err := copier{limit: 1 << 20}.Clone(message)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(message, copied, protocmp.Transform()); diff != "" {
				t.Errorf("copy of %T (-want +got):\n%s", message, diff)
			}
			change(copied.(proto.Message).ProtoReflect())
			if diff := cmp.Diff(before, message, protocmp.Transform()); diff != "" {
				t.Errorf("%T after a change of its copy (-want +got):\n%s", message, diff)
			}
		}
	}
}

// change changes the elements of a message's own lists and bytes.
func change(m protoreflect.Message) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsList():
			list := m.Mutable(field).List()
			list.Set(0, list.NewElement())
			list.Append(list.NewElement())
		case field.Kind() == protoreflect.BytesKind:
			value.Bytes()[0]++
		}
		return true
	})
}

// TestMaxSize compares maxSize with the size of messages with all fields.
func TestMaxSize(t *testing.T) {
	for member := range 4 {
		m := &worldv1.Message{}
		fill(m.ProtoReflect(), member, 4)
		calls := []*worldv1.Message{m, m}
		size := proto.Size(&toolhostv1.ExecuteRequest{Calls: calls})
		if got := maxSize(calls); got < size || got > 2*size {
			t.Errorf("%T: at most %d bytes, expected at least the %d that it has, and not twice as many", m.GetBody(), got, size)
		}
	}
}

// TestIsValid checks that isValid agrees with the validator, and that skipValidMessages does not
// change errors.
func TestIsValid(t *testing.T) {
	validator, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	unless, random := skipValidMessages(), rand.New(rand.NewPCG(1, 2))
	valid, obeyed := 0, 0
	for range 5000 {
		messages := make([]*worldv1.Message, []int{0, 1, 1, 2, 3}[random.IntN(5)])
		for i := range messages {
			messages[i] = someMessage(random)
			one := validator.Validate(messages[i])
			if got := isValid(messages[i]); got != (one == nil) {
				t.Fatalf("%v: isValid is %v, the validator's error is %v", messages[i], got, one)
			}
			if one == nil {
				obeyed++
			}
		}
		for _, request := range []proto.Message{
			&toolhostv1.ExecuteRequest{SessionId: "s.0", Calls: messages},
			&agentgwv1.RespondRequest{RolloutId: "s.0", Role: worldv1.Role_ROLE_USER, View: messages},
			&toolhostv1.RestoreSessionRequest{
				Create: &toolhostv1.CreateSessionRequest{SessionId: "s.0"}, Executions: []*toolhostv1.Execution{{Calls: messages, Outcome: &toolhostv1.ExecuteResponse{Answers: messages}}},
			},
		} {
			want, got := validator.Validate(request), validator.Validate(request, unless)
			if (want == nil) != (got == nil) || want != nil && want.Error() != got.Error() {
				t.Fatalf("%v: got %v, want %v", request, got, want)
			}
			if want == nil {
				valid++
			}
		}
	}
	if valid == 0 || obeyed == 0 {
		t.Errorf("%d valid requests and %d valid messages, expected some", valid, obeyed)
	}
	many := &toolhostv1.ExecuteRequest{SessionId: "s.0"}
	for range maxListed + 1 {
		many.Calls = append(many.Calls, &worldv1.Message{Sender: worldv1.Role_ROLE_USER, Recipient: worldv1.Role_ROLE_AGENT})
	}
	if err := validator.Validate(many, unless); err == nil {
		t.Errorf("%d calls: got nil, want an error", len(many.GetCalls()))
	}
}

// TestUnchecked checks requests with each field at its limits: the validator rejects the unchecked
// part of every request that it rejects, and has nothing to check in those of a scripted rollout.
func TestUnchecked(t *testing.T) {
	validator, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	said := []*worldv1.Message{{Sender: worldv1.Role_ROLE_USER, Recipient: worldv1.Role_ROLE_AGENT}}
	scripted := &agentgwv1.RespondRequest{
		RolloutId: "s-_9.0.A", Role: worldv1.Role_ROLE_AGENT, View: said, Scripted: &worldv1.ScriptTurn{Calls: []*worldv1.ToolCall{{Tool: "tool"}}},
		Player: &agentgwv1.Player{Name: "oracle", Kind: &agentgwv1.Player_Scripted{Scripted: &agentgwv1.Scripted{Source: agentgwv1.Scripted_SOURCE_SCENARIO}}},
	}
	model := proto.CloneOf(scripted)
	model.Player = &agentgwv1.Player{Name: "m", Kind: &agentgwv1.Player_Model{Model: &agentgwv1.Model{Provider: "openai", Model: "m"}}}
	model.SpendLimit = &agentgwv1.SpendLimit{Tokens: 1}
	rejected := 0
	for _, test := range []struct{ request, want proto.Message }{
		{&toolhostv1.ExecuteRequest{SessionId: "s.0", Calls: said}, nil},
		{scripted, nil},
		{model, model.GetPlayer()},
	} {
		if got := unchecked(test.request); got != test.want {
			t.Errorf("%v: got %v, want %v", test.request, got, test.want)
		}
		if err := validator.Validate(test.request); err != nil {
			t.Error(err)
		}
		for _, changed := range extremes(test.request) {
			if err := validator.Validate(changed); err != nil {
				rejected++
				if part := unchecked(changed); part == nil || validator.Validate(part) == nil {
					t.Errorf("%v: nothing is wrong with %v, but %v", changed, part, err)
				}
			}
		}
	}
	if rejected < 60 {
		t.Errorf("requests that break a rule: got %d, want at least 60", rejected)
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

// someMessage returns a random message, valid or not.
func someMessage(random *rand.Rand) *worldv1.Message {
	role := func() worldv1.Role {
		if random.IntN(8) > 0 {
			return worldv1.Role_ROLE_USER
		}
		return worldv1.Role(random.IntN(9) - 2)
	}
	m := &worldv1.Message{Sender: role(), Recipient: role(), Index: int32(random.IntN(12)) - 1}
	for range random.IntN(3) {
		m.VisibleTo = append(m.VisibleTo, role())
	}
	switch random.IntN(6) {
	case 0:
		m.Body = &worldv1.Message_Text{}
	case 1:
		m.Body = &worldv1.Message_Call{Call: &worldv1.ToolCall{Tool: "tool"}}
	case 2:
		m.Body = &worldv1.Message_Call{Call: &worldv1.ToolCall{}}
	case 3:
		m.Body = &worldv1.Message_Result{Result: &worldv1.ToolResult{Traces: []*worldv1.ToolTrace{{}}}}
	case 4:
		m.Body = &worldv1.Message_Code{Code: &worldv1.Code{}}
	}
	return m
}
