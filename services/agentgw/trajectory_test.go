package agentgw_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/conformance"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/services/agentgw"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

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
		trajectories, err := conformance.Trajectories(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, recorded := range trajectories {
			n, failed := replay(t, client, names, recorded, filepath.Base(file))
			turns += n
			failures += failed
		}
	}
	t.Logf("%d turns equal, %d failures", turns, failures)
	if turns == 0 || failures == 0 {
		t.Errorf("got %d turns and %d failures, want some of both", turns, failures)
	}
}

// replay returns the numbers of compared turns and of failures where the original raised.
func replay(t *testing.T, client agentgwv1.AgentGatewayServiceClient, names toolNames, recorded *conformance.Trajectory, file string) (turns, failures int) {
	t.Helper()
	setup := recorded.Scenario.GetSetup()
	name := file + ", " + setup.GetName()
	hidden := make(map[string]bool)
	if script := setup.GetOracleScript(); recorded.ExceptionType() != "" {
		for _, c := range script[len(script)-1].GetCalls() {
			hidden[c.GetTool()] = true
		}
	}
	scrambled := slices.Contains(setup.GetTools().GetAugmentations(), setupv1.Augmentation_AUGMENTATION_TOOL_NAME_SCRAMBLED)
	ask := func(role worldv1.Role, turn int32, index int32, without map[string]bool) *agentgwv1.RespondResponse {
		req := &agentgwv1.RespondRequest{
			RolloutId: "replay", Index: index, Role: role, Turn: turn, Compat: true, View: wifiView(),
			Player: &agentgwv1.Player{Name: "scripted", Kind: &agentgwv1.Player_Scripted{
				Scripted: &agentgwv1.Scripted{Source: agentgwv1.Scripted_SOURCE_SCENARIO}}},
			Tools: names.tools(role == agent && scrambled, without),
		}
		script := setup.GetOracleScript()
		if role == user {
			script = setup.GetUserScript()
		}
		if int(turn) < len(script) {
			req.Scripted = script[turn]
		}
		got, err := client.Respond(t.Context(), req)
		if err != nil {
			t.Fatalf("%s: turn %d: %v", name, turn, err)
		}
		return got
	}
	taken := make(map[worldv1.Role]int32)
	for at := 0; at < len(recorded.Messages); {
		first := at
		role := recorded.Messages[first].GetSender()
		for at++; at < len(recorded.Messages) && recorded.Messages[at].GetSender() == role; at++ {
			continue
		}
		if role == environment {
			continue
		}
		want := &agentgwv1.RespondResponse{Messages: recorded.Messages[first:at]}
		for _, m := range want.GetMessages() {
			m.ConversationActive = nil // nothing that the gateway says
		}
		got := ask(role, taken[role], want.GetMessages()[0].GetIndex(), nil)
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Fatalf("%s: %s turn %d (-want +got):\n%s", name, role, taken[role], diff)
		}
		taken[role]++
		turns++
	}
	if len(hidden) > 0 {
		got := ask(agent, taken[agent], 0, hidden).GetFailure().GetExceptionType()
		if got != recorded.ExceptionType() {
			t.Fatalf("%s: exception: got %q, want %q", name, got, recorded.ExceptionType())
		}
		failures++
	}
	return turns, failures
}
