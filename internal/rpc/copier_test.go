package rpc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
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
			entries := m.Mutable(field).Map()
			one := entries.NewValue()
			if field.MapValue().Message() != nil {
				fill(one.Message(), member, depth-1)
			}
			entries.Set(field.MapKey().Default().MapKey(), one)
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

// calls returns all methods of the services.
func calls() (all []protoreflect.MethodDescriptor) {
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for j := range methods.Len() {
				if strings.HasPrefix(string(file.Package()), "toolsandbox.") {
					all = append(all, methods.Get(j))
				}
			}
		}
		return true
	})
	return all
}

// newMessage returns an empty message of a type.
func newMessage(t *testing.T, of protoreflect.MessageDescriptor) proto.Message {
	t.Helper()
	found, err := protoregistry.GlobalTypes.FindMessageByName(of.FullName())
	if err != nil {
		t.Fatal(err)
	}
	return found.New().Interface()
}

// TestCopiesAreWhole checks that copies of all requests and responses have all fields. Copies of
// immutable ones share lists, bytes and messages; other copies have their own.
func TestCopiesAreWhole(t *testing.T) {
	c := copier{limit: 1 << 24}
	shared := 0
	for _, method := range calls() {
		for _, of := range []protoreflect.MessageDescriptor{method.Input(), method.Output()} {
			immutable := isImmutable(of)
			if immutable {
				shared++
			}
			for member := range 5 { // the largest number of a oneof's members
				message := newMessage(t, of)
				fill(message.ProtoReflect(), member, 3)
				before := proto.CloneOf(message)
				copied := newMessage(t, of)
				if err := c.Copy(copied, message, immutable); err != nil {
					t.Fatal(err)
				}
				if !proto.Equal(message, copied) {
					t.Errorf("copy of %T (-want +got):\n%s", message, cmp.Diff(message, copied, protocmp.Transform()))
				}
				cloned, err := c.Clone(message, immutable)
				if err != nil || (cloned == message) != immutable {
					t.Errorf("clone of %T: got the message itself: %v, %v, want %v, nil", message, cloned == message, err, immutable)
				}
				if immutable {
					continue
				}
				change(copied.ProtoReflect())
				change(cloned.ProtoReflect())
				if !proto.Equal(before, message) {
					t.Errorf("%T after a change of its copies (-want +got):\n%s", message, cmp.Diff(before, message, protocmp.Transform()))
				}
			}
		}
	}
	if shared != 5 {
		t.Errorf("immutable requests and responses: got %d, want those of Respond and Execute, and the response of CreateSession", shared)
	}
}

// TestImmutable checks what the channel knows about methods from their descriptors.
func TestImmutable(t *testing.T) {
	for method, want := range map[[2]string][2]bool{
		{"toolsandbox.agentgw.v1.AgentGatewayService", "Respond"}:     {true, true},
		{"toolsandbox.toolhost.v1.ToolHostService", "CreateSession"}:  {false, true},
		{"toolsandbox.toolhost.v1.ToolHostService", "RestoreSession"}: {false, false},
		{"toolsandbox.toolhost.v1.ToolHostService", "Praise"}:         {false, false},
	} {
		request, response := immutable(method[0], method[1])
		if got := [2]bool{request, response}; got != want {
			t.Errorf("%s: got %v, want %v", method, got, want)
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

// TestSharedSize measures an immutable request whose parts were measured before, and others.
func TestSharedSize(t *testing.T) {
	calls := conversation(4)
	for _, measured := range calls[:2] {
		proto.Size(measured)
	}
	request := &toolhostv1.ExecuteRequest{SessionId: "s.0", Calls: calls}
	size := proto.Size(proto.CloneOf(request))
	for limit, want := range map[int]codes.Code{size: codes.OK, size - 1: codes.ResourceExhausted} {
		if _, err := (copier{limit: limit}).Clone(request, true); status.Code(err) != want {
			t.Errorf("request of %d bytes, at most %d: got %v, want %v", size, limit, err, want)
		}
	}
}

// conversation returns n valid messages.
func conversation(n int) (messages []*worldv1.Message) {
	for i := range n {
		m := &worldv1.Message{Index: int32(i), Sender: worldv1.Role_ROLE_AGENT, Recipient: worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, VisibleTo: []worldv1.Role{worldv1.Role_ROLE_AGENT}}
		if i%2 == 0 {
			m.Body = &worldv1.Message_Call{Call: &worldv1.ToolCall{Tool: "tool", ArgumentsJson: `{"a": 1}`}}
		} else {
			m.Body = &worldv1.Message_Result{Result: &worldv1.ToolResult{Text: proto.String("None"), Traces: []*worldv1.ToolTrace{{Tool: "tool"}}}}
		}
		messages = append(messages, m)
	}
	return messages
}

// turn returns a valid request for a turn of a model.
func turn(view []*worldv1.Message) *agentgwv1.RespondRequest {
	return &agentgwv1.RespondRequest{
		RolloutId: "s-_9.0.A", Role: worldv1.Role_ROLE_AGENT, View: view, SpendLimit: &agentgwv1.SpendLimit{Tokens: 1},
		Player: &agentgwv1.Player{Name: "m", Kind: &agentgwv1.Player_Model{Model: &agentgwv1.Model{Provider: "openai", Model: "m", Temperature: proto.Float64(1)}}},
	}
}
