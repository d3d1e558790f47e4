package scenario

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func TestTurns(t *testing.T) {
	t.Parallel()
	call := func(id, tool, arguments string) *worldv1.ToolCall {
		return &worldv1.ToolCall{Id: &id, Tool: tool, ArgumentsJson: arguments}
	}
	turns := func(list ...*worldv1.ScriptTurn) []*worldv1.ScriptTurn { return list }
	calls := func(list ...*worldv1.ToolCall) *worldv1.ScriptTurn { return &worldv1.ScriptTurn{Calls: list} }
	tests := map[string]struct {
		text string
		want []*worldv1.ScriptTurn
	}{
		"texts": {"- say: ok\n- say: ''\n- say: |\n    two\n    lines\n", turns(&worldv1.ScriptTurn{Say: "ok"}, &worldv1.ScriptTurn{}, &worldv1.ScriptTurn{Say: "two\nlines\n"})},
		"calls": {
			"- calls:\n  - id: c1\n    tool: a\n    arguments: {z: 1.50, a: [true, null, x], 'b c': {d: -1e40}}\n  - tool: b\n",
			turns(calls(call("c1", "a", `{"z": 1.50, "a": [true, null, "x"], "b c": {"d": -1e40}}`), call("", "b", "{}"))),
		},
		"block arguments": {
			"- calls:\n  - tool: a\n    arguments:\n      one: \"<&>\\n\"\n",
			turns(calls(call("", "a", `{"one": "<&>\n"}`))),
		},
		"numbers that JSON writes otherwise": {
			"- calls: [{tool: a, arguments: {x: 0x1F, y: 1_000, z: 123456789012345678901234567890}}]",
			turns(calls(call("", "a", `{"x": 31, "y": 1000, "z": 123456789012345678901234567890}`))),
		},
		"JSON": {
			"[\n  {\"say\": \"a\\u00e9 \\ud83d\\ude00\"},\n  {\"calls\": [{\"id\": \"c\", \"tool\": \"t\", \"arguments\": {\"on\": false, \"n\": null}}]}\n]\n",
			turns(&worldv1.ScriptTurn{Say: "aé 😀"}, calls(call("c", "t", `{"on": false, "n": null}`))),
		},
		"no turn": {"[]", nil},
	}
	for name, test := range tests {
		got, err := ParseTurns("s.yaml", []byte(test.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(test.want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTurnErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"", "s.yaml:1:1: document: expected one list of turns"},
		{"say: x", "s.yaml:1:1: document: is a mapping, expected a list"},
		{"- hello", "s.yaml:1:3: [0]: is a text, expected a mapping"},
		{"- say: x\n- sya: y", "s.yaml:2:3: [1].sya: unknown field; expected one of say, calls, end, or one tool with its arguments, as in search_contacts: {name: Ada}"},
		{"- say: x\n  calls: [{tool: a}]", "s.yaml:1:3: [0]: has 2 fields, expected one of say, calls, end"},
		{"- {}", "s.yaml:1:3: [0]: has 0 fields, expected one of say, calls, end"},
		{"- say: 5", "s.yaml:1:8: [0].say: is a number, expected a text (quote it)"},
		{"- say: [x]", "s.yaml:1:8: [0].say: is a list, expected a text"},
		{"- calls: []", "s.yaml:1:10: [0].calls: is empty, expected at least one call"},
		{"- calls: x", "s.yaml:1:10: [0].calls: is a text, expected a list"},
		{"- calls:\n  - id: c", "s.yaml:2:5: [0].calls[0]: has no \"tool\", which is required"},
		{"- calls:\n  - tool: ''", "s.yaml:2:11: [0].calls[0].tool: is empty, expected a tool's name"},
		{"- calls:\n  - tool: a\n    id: 7", "s.yaml:3:9: [0].calls[0].id: is a number, expected a text (quote it)"},
		{"- calls:\n  - tool: a\n    arguments: [1]", "s.yaml:3:16: [0].calls[0].arguments: is a list, expected a mapping"},
		{"- calls:\n  - tool: a\n    arguments: {x: .nan}", "s.yaml:3:20: [0].calls[0].arguments.x: is not a finite number"},
		{"- calls:\n  - tool: a\n    arguments: {x: 1e400}", "s.yaml:3:20: [0].calls[0].arguments.x: 1e400 is not a number that can be kept"},
		{"- calls:\n  - tool: a\n    args: {}", `s.yaml:3:5: [0].calls[0].args: unknown field; expected one of id, tool, arguments`},
		{"- say: x\n  say: y", "s.yaml:2:3: [0].say: is written twice; keep one"},
		{"- say: x\n  <<: {say: y}", "s.yaml:2:3: [0]: merge keys (<<) are not read; write the fields out"},
		{"- say: x\n  1: y", "s.yaml:2:3: [0]: a key must be a text, not integer; quote it"},
		{"- say: &a x", "s.yaml:1:8: [0].say: anchors and aliases are not read; write the value out"},
		{"- say: 'x", "s.yaml:1:8: document: not readable as YAML: could not find end character of single-quoted text"},
	}
	for _, test := range tests {
		_, err := ParseTurns("s.yaml", []byte(test.text))
		if err == nil || err.Error() != test.want {
			t.Errorf("%q:\n got %v\nwant %s", test.text, err, test.want)
		}
	}
}

// FuzzTurns checks that Turns does not panic and returns turns or an error with its position.
func FuzzTurns(f *testing.F) {
	f.Add("- say: ok\n- calls: [{id: c, tool: t, arguments: {a: [1, 2.5, null]}}]\n")
	f.Add("[{\"say\": \"x\"}]")
	f.Add("- say: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		turns, err := ParseTurns("s.yaml", []byte(text))
		if err != nil && (turns != nil || !strings.HasPrefix(err.Error(), "s.yaml:")) {
			t.Errorf("%q: got %v, %v, want an error that starts with the place", text, turns, err)
		}
	})
}
