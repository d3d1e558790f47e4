package model

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/turn"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestIDsUnchanged keeps a native turn only if its results refer to the ids in it.
func TestIDsUnchanged(t *testing.T) {
	id := func(s string) *string { return &s }
	for name, test := range map[string]struct {
		stated, played *string
		want           bool
	}{
		"the same":     {id("a"), id("a"), true},
		"another":      {id("a\nb"), id("call_4"), false},
		"none stated":  {nil, id("call_4"), true},
		"not answered": {id("a"), nil, true},
	} {
		call := func(id *string) *worldv1.Message {
			return &worldv1.Message{Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{Id: id}}}
		}
		messages := []*worldv1.Message{call(id("x")), call(test.played)}
		if got := idsUnchanged(messages, []turn.Call{{ID: id("x")}, {ID: test.stated}}); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
	}
}
