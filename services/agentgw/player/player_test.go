package player

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
		{agent, "orakle", `unknown agent "orakle"; did you mean "oracle"?`},
		{user, "scriptd", `unknown user "scriptd"; did you mean "scripted"?`},
		{agent, "grcp://localhost:7500", `unknown agent "grcp://localhost:7500"; did you mean "grpc://HOST:PORT"?`},
		{agent, "GPT_4_o_2024_05_12", `unknown agent "GPT_4_o_2024_05_12"; did you mean "GPT_4_o_2024_05_13"?`},
		{agent, "openai:", `player "openai:": model "": expected letters, digits and . _ : @ / -, at most 200`},
		{user, "anthropic:a b", `player "anthropic:a b": model "a b": expected letters, digits and . _ : @ / -, at most 200`},
		{agent, "gpt-4o", `unknown agent "gpt-4o"; did you mean "openai:gpt-4o"?`},
		{user, "claude-x", `unknown user "claude-x"; did you mean "anthropic:claude-x"?`},
		{agent, "openai/gpt-4o", `unknown agent "openai/gpt-4o"; did you mean "openai:gpt-4o"?`},
		{agent, "Qwen/Qwen3-8B", `unknown agent "Qwen/Qwen3-8B"; did you mean "openai:Qwen/Qwen3-8B" with --base-url, the address of its server?`},
		{agent, "ollama/llama3", `unknown agent "ollama/llama3"; did you mean "openai:llama3" with --base-url, the address of its server?`},
		{agent, "ollama:llama3", `unknown agent "ollama:llama3"; did you mean "openai:llama3" with --base-url, the address of its server?`},
		{agent, "vllm", `unknown agent "vllm"; did you mean openai:MODEL with --base-url, the address of its server?`},
		{agent, "claude", `unknown agent "claude"; did you mean "anthropic:MODEL"?`},
		{agent, "human", `unknown agent "human"; did you mean "cli"?`},
		{agent, "mine:Agent", `unknown agent "mine:Agent"; an agent of your own serves gRPC: start its program and give its address, grpc://HOST:PORT`},
		{agent, "Mistral", `unknown agent "Mistral"; did you mean "mistral"?`},
		{agent, "GPT_4_o", `unknown agent "GPT_4_o"; did you mean "GPT_4_o_2024_05_13"?`},
		{agent, "localhost:9000", `unknown agent "localhost:9000"; did you mean "grpc://localhost:9000"?`},
		{
			agent, "http://localhost:9000", `unknown agent "http://localhost:9000"; ` +
				"a model server is openai:MODEL with --base-url http://localhost:9000, an agent of your own grpc://HOST:PORT",
		},
		{
			agent, "./agent.py", `unknown agent "./agent.py"; an agent of your own serves gRPC: ` +
				"start its program and give its address, grpc://HOST:PORT",
		},
		{agent, "something else", `unknown agent "something else"; expected one of AGENTS`},
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
		{user, "scripted:none.yaml", `player "scripted:none.yaml": none.yaml: cannot be read: no such file or directory`},
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
			Source: agentgwv1.Scripted_SOURCE_INLINE, Turns: []*worldv1.ScriptTurn{{Say: "hi"}},
		}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
}

func TestList(t *testing.T) {
	list := List()
	if !slices.IsSortedFunc(list, func(a, b Info) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("got %v, want them sorted", list)
	}
	var got []string
	for _, info := range list {
		got = append(got, fmt.Sprint(info.Name, info.Roles))
	}
	for _, want := range []string{
		"GPT_4_o_2024_05_13[ROLE_USER ROLE_AGENT]", "anthropic:MODEL[ROLE_USER ROLE_AGENT]", "attached:NAME[ROLE_AGENT ROLE_USER]",
		"grpc://HOST:PORT[ROLE_AGENT ROLE_USER]", "oracle[ROLE_AGENT]", "random:SEED[ROLE_AGENT]", "scripted[ROLE_USER]",
		"scripted:FILE[ROLE_USER ROLE_AGENT]", "unhelpful[ROLE_AGENT]",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("got %v, want %s among them", got, want)
		}
	}
}
