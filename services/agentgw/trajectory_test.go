package agentgw_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/sandbox"
	"github.com/toolsandbox/toolsandbox/internal/sandbox/sandboxtest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/services/agentgw"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// trajectory is the part of a recorded rollout that the scripted roles made.
type trajectory struct {
	Scenario, Variant, Label string
	Agent, User              []recordedTurn
	Messages                 []recordedMessage
	Result                   struct {
		ExceptionType string `json:"exception_type"`
	}
}

type recordedTurn struct {
	Say   string
	Calls []struct {
		ID, Tool  string
		Arguments json.RawMessage
	}
}

type recordedMessage struct {
	Index                      int32
	Sender, Recipient, Content string
	ID                         *string  `json:"openai_tool_call_id"`
	Name                       *string  `json:"openai_function_name"`
	VisibleTo                  []string `json:"visible_to"`
}

func (r recordedTurn) turn() *worldv1.Turn {
	turn := &worldv1.Turn{Say: r.Say}
	for _, c := range r.Calls {
		turn.Calls = append(turn.Calls, &worldv1.ToolCall{Id: &c.ID, Tool: c.Tool, ArgumentsJson: string(c.Arguments)})
	}
	return turn
}

func (r recordedMessage) message() *worldv1.Message {
	sender, _ := world.RoleByText(r.Sender)
	recipient, _ := world.RoleByText(r.Recipient)
	m := sandboxtest.Read(sender, recipient, sandbox.Row{Content: &r.Content, ToolCallID: r.ID, FunctionName: r.Name})
	m.Index = r.Index
	for _, text := range r.VisibleTo {
		role, _ := world.RoleByText(text)
		m.VisibleTo = append(m.VisibleTo, role)
	}
	return m
}

// toolNames are the names of all tools: in order, and under TOOL_NAME_SCRAMBLED.
type toolNames struct {
	Order     []string          `json:"tool_order"`
	Scrambled map[string]string `json:"scrambled_names"`
}

func readToolNames(t *testing.T) (names toolNames) {
	t.Helper()
	raw, err := os.ReadFile(vectortest.Dir(t, "tools/schemas.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &names); err != nil {
		t.Fatal(err)
	}
	return names
}

// tools returns all tools but some, with plain or with scrambled names.
func (n toolNames) tools(scrambled bool, without map[string]bool) []*worldv1.Tool {
	var tools []*worldv1.Tool
	for _, name := range n.Order {
		tool := &worldv1.Tool{Name: name, ExecutionName: name}
		if other := n.Scrambled[name]; scrambled && other != "" {
			tool.Name = other
		}
		if !without[name] {
			tools = append(tools, tool)
		}
	}
	return tools
}

// TestTrajectories plays the roles of recorded rollouts against the recorded results of the
// environment.
func TestTrajectories(t *testing.T) {
	t.Parallel()
	client := serve(t, agentgw.DefaultConfig(), natstest.Start(t))
	files, err := filepath.Glob(filepath.Join(vectortest.Dir(t, "trajectories"), "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	names := readToolNames(t)
	turns, failures := 0, 0
	for _, file := range files {
		vectortest.Lines(t, file, func(line int, raw []byte) {
			var recorded trajectory
			if err := json.Unmarshal(raw, &recorded); err != nil {
				t.Fatalf("%s:%d: %v", file, line, err)
			}
			n, failed := replay(t, client, names, &recorded, filepath.Base(file), line)
			turns += n
			failures += failed
		})
	}
	t.Logf("%d turns equal, %d failures", turns, failures)
	if turns == 0 || failures == 0 {
		t.Errorf("got %d turns and %d failures, want some of both", turns, failures)
	}
}

// replay returns the numbers of compared turns and of failures where the original raised.
func replay(t *testing.T, client agentgwv1.AgentGatewayServiceClient, names toolNames, recorded *trajectory, file string, line int) (turns, failures int) {
	t.Helper()
	hidden := make(map[string]bool)
	if recorded.Result.ExceptionType != "" {
		for _, c := range recorded.Agent[len(recorded.Agent)-1].Calls {
			hidden[c.Tool] = true
		}
	}
	ask := func(role worldv1.Role, turn int32, script []recordedTurn, index int32, without map[string]bool) *agentgwv1.RespondResponse {
		req := &agentgwv1.RespondRequest{
			RolloutId: "replay", Index: index, Role: role, Turn: turn, Compat: true, View: wifiView(),
			Player: &agentgwv1.Player{Name: "scripted", Kind: &agentgwv1.Player_Scripted{
				Scripted: &agentgwv1.Scripted{Source: agentgwv1.Scripted_SOURCE_SCENARIO}}},
			Tools: names.tools(role == agent && strings.HasSuffix(recorded.Variant, "tool_name_scrambled"), without),
		}
		if int(turn) < len(script) {
			req.Scripted = script[turn].turn()
		}
		got, err := client.Respond(t.Context(), req)
		if err != nil {
			t.Fatalf("%s:%d: turn %d: %v", file, line, turn, err)
		}
		return got
	}
	taken := make(map[worldv1.Role]int32)
	for at := 0; at < len(recorded.Messages); {
		batch := []*worldv1.Message{recorded.Messages[at].message()}
		for at++; at < len(recorded.Messages) && recorded.Messages[at].Sender == recorded.Messages[at-1].Sender; at++ {
			batch = append(batch, recorded.Messages[at].message())
		}
		role, script := batch[0].GetSender(), recorded.Agent
		switch role {
		case environment:
			continue
		case user:
			script = recorded.User
		}
		got := ask(role, taken[role], script, batch[0].GetIndex(), nil)
		want := &agentgwv1.RespondResponse{Messages: batch}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Fatalf("%s:%d: %s turn %d (-want +got):\n%s", file, line, role, taken[role], diff)
		}
		taken[role]++
		turns++
	}
	if len(hidden) > 0 {
		got := ask(agent, taken[agent], recorded.Agent, 0, hidden).GetFailure().GetExceptionType()
		if got != recorded.Result.ExceptionType {
			t.Fatalf("%s:%d: exception: got %q, want %q", file, line, got, recorded.Result.ExceptionType)
		}
		failures++
	}
	return turns, failures
}
