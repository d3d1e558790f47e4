package player

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func TestParse(t *testing.T) {
	scenario := &agentgwv1.Player_Scripted{Scripted: &agentgwv1.Scripted{Source: agentgwv1.Scripted_SOURCE_SCENARIO}}
	seeded := func(seed int64) *agentgwv1.Player_Random {
		return &agentgwv1.Player_Random{Random: &agentgwv1.Random{Seed: seed}}
	}
	tests := []struct {
		role worldv1.Role
		text string
		want *agentgwv1.Player
	}{
		{agent, "oracle", &agentgwv1.Player{Name: "oracle", Kind: scenario}},
		{user, "scripted", &agentgwv1.Player{Name: "scripted", Kind: scenario}},
		{agent, "unhelpful", &agentgwv1.Player{Name: "unhelpful", Kind: &agentgwv1.Player_Unhelpful{Unhelpful: &agentgwv1.Unhelpful{}}}},
		{agent, "random", &agentgwv1.Player{Name: "random", Kind: seeded(0)}},
		{agent, "random:-4", &agentgwv1.Player{Name: "random:-4", Kind: seeded(-4)}},
		{agent, "grpc://[::1]:7500", &agentgwv1.Player{Name: "grpc://[::1]:7500", Kind: &agentgwv1.Player_Plugin{
			Plugin: &agentgwv1.Plugin{Address: "[::1]:7500"}}}},
	}
	for _, test := range tests {
		got, err := Parse(test.role, test.text)
		if err != nil {
			t.Errorf("Parse(%q): %v", test.text, err)
			continue
		}
		if diff := cmp.Diff(test.want, got, protocmp.Transform()); diff != "" {
			t.Errorf("Parse(%q) (-want +got):\n%s", test.text, diff)
		}
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		role worldv1.Role
		text string
		want string
	}{
		{agent, "orakle", `unknown agent "orakle"; expected one of AGENTS; did you mean "oracle"?`},
		{user, "scriptd", `unknown user "scriptd"; expected one of USERS; did you mean "scripted"?`},
		{agent, "grcp://localhost:7500", `unknown agent "grcp://localhost:7500"; expected one of AGENTS; did you mean "grpc://HOST:PORT"?`},
		{agent, "GPT_4_o_2024_05_12", `unknown agent "GPT_4_o_2024_05_12"; expected one of AGENTS; did you mean "GPT_4_o_2024_05_13"?`},
		{agent, "openai:", `player "openai:": model "": expected letters, digits and . _ : @ / -, at most 200`},
		{user, "anthropic:a b", `player "anthropic:a b": model "a b": expected letters, digits and . _ : @ / -, at most 200`},
		{agent, "gpt-4o", `unknown agent "gpt-4o"; expected one of AGENTS`},
		{agent, "", `unknown agent ""; expected one of AGENTS`},
		{user, "oracle", `player "oracle" cannot play the user; expected one of USERS`},
		{agent, "scripted", `player "scripted" cannot play the agent; expected one of AGENTS`},
		{agent, "random:x", `player "random:x": seed "x" is no whole number of 64 bits`},
		{agent, "random:", `player "random:": seed "" is no whole number of 64 bits`},
		{agent, "grpc://localhost", `player "grpc://localhost": address "localhost": expected host:port, e.g. localhost:7500`},
		{agent, "grpc://:7500", `player "grpc://:7500": address ":7500": expected host:port, e.g. localhost:7500`},
		{agent, "grpc://a:0", `player "grpc://a:0": address "a:0": port "0": expected 1 to 65535`},
		{agent, "grpc://a:95000", `player "grpc://a:95000": address "a:95000": port "95000": expected 1 to 65535`},
		{agent, "grpcs://a:https", `player "grpcs://a:https": address "a:https": port "https": expected 1 to 65535`},
		{agent, "grpc://a/b:7500", `player "grpc://a/b:7500": address "a/b:7500": expected host:port, e.g. localhost:7500`},
		{agent, "grpc://me@a:7500", `player "grpc://me@a:7500": address "me@a:7500": expected host:port, e.g. localhost:7500`},
		{user, "scripted:none.yaml", `player "scripted:none.yaml": read script: stat none.yaml: no such file or directory`},
	}
	lists := strings.NewReplacer("AGENTS", strings.Join(names(agent), ", "), "USERS", strings.Join(names(user), ", "))
	for _, test := range tests {
		_, err := Parse(test.role, test.text)
		if want := lists.Replace(test.want); err == nil || err.Error() != want {
			t.Errorf("Parse(%q):\n got %v\nwant %s", test.text, err, want)
		}
	}
}

func TestParseFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("long", 30)+".yaml")
	if err := os.WriteFile(path, []byte("- say: hi\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Parse(user, "scripted:"+path)
	if err != nil {
		t.Fatal(err)
	}
	want := &agentgwv1.Player{
		Name: ("scripted:" + filepath.Base(path))[:maxName],
		Kind: &agentgwv1.Player_Scripted{Scripted: &agentgwv1.Scripted{
			Source: agentgwv1.Scripted_SOURCE_INLINE, Turns: []*worldv1.Turn{{Say: "hi"}},
		}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
}

func TestTurns(t *testing.T) {
	call := func(id, tool, arguments string) *worldv1.ToolCall {
		made := &worldv1.ToolCall{Tool: tool, ArgumentsJson: arguments}
		if id != "" {
			made.Id = &id
		}
		return made
	}
	turns := func(list ...*worldv1.Turn) []*worldv1.Turn { return list }
	calls := func(list ...*worldv1.ToolCall) *worldv1.Turn { return &worldv1.Turn{Calls: list} }
	tests := map[string]struct {
		text string
		want []*worldv1.Turn
	}{
		"texts": {"- say: ok\n- say: ''\n- say: |\n    two\n    lines\n", turns(&worldv1.Turn{Say: "ok"}, &worldv1.Turn{}, &worldv1.Turn{Say: "two\nlines\n"})},
		"calls": {
			"- calls:\n  - id: c1\n    tool: a\n    arguments: {z: 1.50, a: [true, null, x], 'b c': {d: -1e400}}\n  - tool: b\n",
			turns(calls(call("c1", "a", `{"z": 1.50, "a": [true, null, "x"], "b c": {"d": -1e400}}`), call("", "b", "{}"))),
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
			turns(&worldv1.Turn{Say: "aé 😀"}, calls(call("c", "t", `{"on": false, "n": null}`))),
		},
		"no turn": {"[]", []*worldv1.Turn{}},
	}
	for name, test := range tests {
		got, err := parseTurns("s.yaml", []byte(test.text))
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
	tests := []struct{ text, want string }{
		{"", "s.yaml:1:1: document: expected one list of turns"},
		{"say: x", "s.yaml:1:1: document: is a mapping, expected a list"},
		{"- hello", "s.yaml:1:3: [0]: is text, expected a mapping with say, calls"},
		{"- say: x\n- sya: y", `s.yaml:2:3: [1].sya: unknown field, expected one of say, calls; did you mean "say"?`},
		{"- say: x\n  calls: []", "s.yaml:1:3: [0]: expected either say or calls"},
		{"- {}", "s.yaml:1:3: [0]: expected either say or calls"},
		{"- say: 5", "s.yaml:1:8: [0].say: is a number, expected text (quote it)"},
		{"- say: [x]", "s.yaml:1:8: [0].say: is a list, expected text"},
		{"- calls: []", "s.yaml:1:10: [0].calls: is empty, expected at least one call"},
		{"- calls: x", "s.yaml:1:10: [0].calls: is text, expected a list"},
		{"- calls:\n  - id: c", "s.yaml:2:5: [0].calls[0]: has no tool"},
		{"- calls:\n  - tool: ''", "s.yaml:2:11: [0].calls[0].tool: is empty, expected a tool's name"},
		{"- calls:\n  - tool: a\n    id: 7", "s.yaml:3:9: [0].calls[0].id: is a number, expected text (quote it)"},
		{"- calls:\n  - tool: a\n    arguments: [1]", "s.yaml:3:16: [0].calls[0].arguments: is a list, expected a mapping"},
		{"- calls:\n  - tool: a\n    arguments: {x: .nan}", "s.yaml:3:20: [0].calls[0].arguments.x: is a nan, which JSON does not have"},
		{"- calls:\n  - tool: a\n    args: {}", `s.yaml:3:5: [0].calls[0].args: unknown field, expected one of id, tool, arguments`},
		{"- say: x\n  say: y", "s.yaml:2:3: document: mapping key \"say\" already defined at [1:3]"},
		{"- say: &a x\n- say: *a", "s.yaml:1:8: [0].say: is a anchor, expected text"},
		{"- say: 'x", "s.yaml:1:8: document: could not find end character of single-quoted text"},
	}
	for _, test := range tests {
		_, err := parseTurns("s.yaml", []byte(test.text))
		if err == nil || err.Error() != test.want {
			t.Errorf("%q:\n got %v\nwant %s", test.text, err, test.want)
		}
	}
}

// FuzzTurns looks for input that makes the reader panic or return neither turns nor an error with its place.
func FuzzTurns(f *testing.F) {
	f.Add("- say: ok\n- calls: [{id: c, tool: t, arguments: {a: [1, 2.5, null]}}]\n")
	f.Add("[{\"say\": \"x\"}]")
	f.Add("- say: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		turns, err := parseTurns("s.yaml", []byte(text))
		if err != nil && (turns != nil || !strings.HasPrefix(err.Error(), "s.yaml:")) {
			t.Errorf("%q: got %v, %v, want an error that starts with the place", text, turns, err)
		}
	})
}
