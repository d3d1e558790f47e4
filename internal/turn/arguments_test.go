package turn

import (
	"testing"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestShownArguments names the arguments of a call by a tool's real name as the role sees them. A
// call by the name that the role sees has its own.
func TestShownArguments(t *testing.T) {
	tools := NewTools([]*worldv1.Tool{{Name: "contact_0", ExecutionName: "add", ArgumentNames: []string{"is_self", "name"}}, {Name: "get", ExecutionName: "get"}})
	for _, test := range []struct {
		call Call
		want string
	}{
		{Call{Tool: "add", Arguments: `{"name": "Ann", "is_self": true, "x": 1}`}, `{"arg_1": "Ann", "arg_0": true, "x": 1}`},
		{Call{Tool: "add", Arguments: `{"arg_1": "Ann"}`}, `{"arg_1": "Ann"}`},
		{Call{Tool: "add", Arguments: `["name"]`}, `["name"]`},
		{Call{Tool: "get", Arguments: `{"name": 1}`}, `{"name": 1}`},
		{Call{Tool: "unknown", Arguments: `{"name": 1}`}, `{"name": 1}`},
		{Call{Name: "contact_0", Arguments: `{"name": "Ann"}`}, `{"name": "Ann"}`},
	} {
		if got := tools.shownArguments(test.call); got != test.want {
			t.Errorf("%v: got %s, want %s", test.call, got, test.want)
		}
	}
}
