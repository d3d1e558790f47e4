package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/e2e/internal/record"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

const (
	// canary is in every milestone and minefield, leak in a text that players may see.
	canary = "Canary7Xq2Vb91"
	leak   = "Leak5Jw8Rz34"
	// leaky is the prefix of the names of the scenarios with the leak.
	leaky = "isolation_" + leak
)

// wire returns the name of the connection from one process to another.
func wire(from, to string) string { return from + " → " + to }

// secretWires are the wires that carry milestones.
func secretWires() []string {
	return []string{wire(cluster.Client, cluster.Evaluator), wire(cluster.Evaluator, cluster.NATS)}
}

// TestLongEvaluatorIsolation plants a text in every milestone and minefield of the catalogue and
// plays it with agents of every kind. It searches every byte between the processes, and their logs,
// spans, errors and descriptions, and what tool servers receive. Only the evaluator receives the
// text. A text in the setup, in contrast, reaches all players and servers.
func TestLongEvaluatorIsolation(t *testing.T) {
	t.Parallel()
	r := record.New(canary, leak)
	plugin := servePlugin(t)
	gateway, err := r.GRPC(wire(cluster.AgentGateway, "plug-in"), plugin)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	desk, shop := serveDesk(t, r), recordedShop(t)
	services, spans := recordedCluster(t, r, dir, []string{"--toolhost-tool-server", "desk=grpc://" + desk.address, "--toolhost-tool-server", "shop=" + shop.command})
	planted := plantedPack(t, desk.pack)
	for _, run := range []struct {
		agent string
		args  []string
	}{
		{"oracle", nil},
		{"oracle", []string{"--variants", "all", "--limit", "200"}},
		{"random", nil},
		{"unhelpful", nil},
		{"grpc://" + gateway, nil},
	} {
		play(t, r, services, append([]string{"--agent", run.agent, "--pack", planted}, run.args...)...)
	}
	provoke(t, r, services)
	describe(t, r, services)
	if err := services.Stop(); err != nil {
		t.Error(err)
	}
	logs(t, r, dir)
	spans(t)
	shop.add(t, r)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	passed := r.Bytes()
	t.Logf("bytes: %v", passed)
	check(t, r, passed)
}

// check compares the places where the texts were found.
func check(t *testing.T, r *record.Recorder, passed map[string]int64) {
	t.Helper()
	found := r.Hits(canary)
	t.Logf("hits of the canary: %v", found)
	for _, name := range secretWires() {
		if passed[name] == 0 {
			t.Errorf("%s: got 0 bytes, want some", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(passed)) {
		hits, wanted := found[name], slices.Contains(secretWires(), name)
		if wanted != (hits > 0) {
			t.Errorf("canary in %s: got %d hits in %d bytes, want some: %v", name, hits, passed[name], wanted)
		}
	}
	leaked := r.Hits(leak)
	t.Logf("hits of the leak: %v", leaked)
	for _, name := range []string{
		wire(cluster.Client, cluster.Orchestrator), wire(cluster.Orchestrator, cluster.AgentGateway),
		wire(cluster.Orchestrator, cluster.ToolHost), wire(cluster.Orchestrator, cluster.NATS), wire(cluster.ToolHost, cluster.NATS),
		wire(cluster.AgentGateway, cluster.NATS), wire(cluster.AgentGateway, "plug-in"), "spans", "answers to wrong requests",
		wire(cluster.ToolHost, deskServer), wire(cluster.ToolHost, shopServer),
	} {
		if leaked[name] == 0 {
			t.Errorf("leak in %s: got no hit in %d bytes, want some", name, passed[name])
		}
	}
	for _, name := range []string{"descriptions", "output of toolsandbox", "log of agentgw", "log of toolhost", "log of orchestrator", "log of evaluator"} {
		if passed[name] == 0 {
			t.Errorf("%s: got 0 bytes, want some", name)
		}
	}
}

// recordedCluster starts a cluster with recorded connections. The returned function records the
// spans.
func recordedCluster(t *testing.T, r *record.Recorder, dir string, toolHostArgs []string) (*cluster.Cluster, func(*testing.T)) {
	t.Helper()
	collector, endpoint := receive(t)
	services, err := cluster.Start(t.Context(), cluster.Config{
		Bin: bin, Dir: dir, Args: []string{"--otlp-endpoint", endpoint, "--trace-content", "--log-level", "debug", "--reflection"}, ToolHostArgs: toolHostArgs,
		Route: func(from, to, address string) (string, error) {
			if to == cluster.NATS {
				return r.TCP(wire(from, to), address)
			}
			return r.GRPC(wire(from, to), address)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return services, func(t *testing.T) {
		t.Helper()
		collector.mu.Lock()
		defer collector.mu.Unlock()
		for _, s := range collector.spans {
			encoded, err := proto.Marshal(s.span)
			if err != nil {
				t.Error(err)
			}
			r.Add("spans", encoded)
		}
	}
}

// servePlugin serves an agent that makes mistakes, to provoke error texts, and that repeats its
// input.
func servePlugin(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- agent.ServeListener(ctx, listener, agent.Func(func(_ context.Context, c *agent.Conversation) (agent.Reply, error) {
			if c.Turn > 0 {
				return agent.Say("I was told: " + c.Messages[0].Text), nil
			}
			calls := []agent.ToolCall{{Name: "no_such_tool", Arguments: json.RawMessage("{}")}}
			for _, tool := range c.Tools[:min(3, len(c.Tools))] {
				calls = append(calls, agent.ToolCall{Name: tool.Name, Arguments: json.RawMessage(`{"wrong": 1}`)})
			}
			return agent.Calls(calls...), nil
		}))
	}()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// play runs the command line with the cluster and records its output.
func play(t *testing.T, r *record.Recorder, services *cluster.Cluster, args ...string) {
	t.Helper()
	args = append([]string{"run", "--log-level", "debug", "--out", filepath.Join(t.TempDir(), "out")}, args...)
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), append(args, services.ClientArgs()...)...)
	output, err := cmd.CombinedOutput()
	r.Add("output of toolsandbox", output)
	if err != nil {
		t.Errorf("toolsandbox %v: %v\n%s", args, err, output)
	}
}

// plantedPack writes a pack of the catalogue, the packs ride and shop, and others, with the canary
// in all evaluations and the leak in a few setups.
func plantedPack(t *testing.T, others ...string) string {
	t.Helper()
	catalogue := &scenariov1.Catalogue{}
	nodes, categories := 0, []string{}
	for _, dir := range slices.Concat(examplePacks, others, []string{filepath.Join("..", "packs", "phone")}) {
		loaded, err := pack.Load(os.DirFS(dir), pack.Options{})
		if err != nil {
			t.Fatal(err)
		}
		categories = append(categories, loaded.Categories...)
		for _, l := range loaded.Scenarios {
			nodes += plant(t, l.Scenario)
			catalogue.Scenarios = append(catalogue.Scenarios, l.Scenario)
		}
		if calls := leakyCalls()[loaded.Name]; calls != nil {
			catalogue.Scenarios = append(catalogue.Scenarios, leakyScenario(t, loaded.Scenarios[0].Scenario, loaded.Name, calls...))
		}
	}
	t.Logf("planted in %d nodes of %d scenarios", nodes, len(catalogue.GetScenarios()))
	if nodes == 0 {
		t.Fatal("planted in 0 nodes, want some")
	}
	catalogue.Scenarios = append(catalogue.Scenarios, leakyScenario(t, catalogue.GetScenarios()[0], "phone",
		&worldv1.ToolCall{Tool: "add_contact", ArgumentsJson: `{"name": "` + leak + `", "phone_number": "+493023125042"}`}))
	encoded, err := proto.Marshal(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	manifest := "name: planted\ncategories: [" + strings.Join(categories, ", ") + "]\n"
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "catalogue.binpb"), encoded, 0o644), os.WriteFile(filepath.Join(dir, "pack.yaml"), []byte(manifest), 0o644)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// leakyCalls returns calls of tools of servers with the leak, by pack.
func leakyCalls() map[string][]*worldv1.ToolCall {
	return map[string][]*worldv1.ToolCall{
		"desk": {
			{Tool: "add_note", ArgumentsJson: `{"title": "` + leak + `"}`},
			{Tool: "find_notes", ArgumentsJson: `{"title": "` + leak + `"}`},
		},
		"shop": {{Tool: "search_products", ArgumentsJson: `{"query": "` + leak + `"}`}},
	}
}

// leakyScenario returns a scenario whose players see the leak, and whose tools are called with it.
func leakyScenario(t *testing.T, s *scenariov1.Scenario, name string, calls ...*worldv1.ToolCall) *scenariov1.Scenario {
	t.Helper()
	s = proto.CloneOf(s)
	setup := s.GetSetup()
	setup.Name = leaky + "_" + name
	for _, m := range setup.GetMessages() {
		if code := m.GetCode(); code != nil {
			code.Source += " " + leak
		} else {
			m.Body = &worldv1.Message_Text{Text: m.GetText() + " " + leak}
		}
	}
	setup.OracleScript, setup.Tools.Allow, setup.Tools.Deny = nil, []string{"end_conversation"}, nil
	for i, call := range calls {
		call.Id = proto.String(fmt.Sprint("c", i))
		setup.OracleScript = append(setup.OracleScript, &worldv1.ScriptTurn{Calls: []*worldv1.ToolCall{call}})
		setup.Tools.Allow = append(setup.Tools.Allow, call.GetTool())
	}
	setup.OracleScript = append(setup.OracleScript, &worldv1.ScriptTurn{Say: leak})
	s.Evaluation = &evaluationv1.Evaluation{Schema: setup.GetSchema(), Milestones: &evaluationv1.Graph{}, Minefields: &evaluationv1.Graph{}}
	s.Proof, s.Notes = nil, ""
	return s
}

// plant puts the canary into every node of a scenario, its notes and its claims, and returns the
// number of nodes.
func plant(t *testing.T, s *scenariov1.Scenario) int {
	t.Helper()
	s.Notes += canary
	nodes := slices.Concat(s.GetEvaluation().GetMilestones().GetNodes(), s.GetEvaluation().GetMinefields().GetNodes())
	for i, node := range nodes {
		node.Name = fmt.Sprintf("%s %s %d", node.GetName(), canary, i)
		for _, constraint := range node.GetConstraints() {
			for _, row := range constraint.GetTarget() {
				for _, cell := range row.GetCells() {
					plantCell(t, cell)
				}
			}
		}
	}
	for _, trigger := range s.GetProof().GetTriggers() {
		for _, turn := range trigger.GetTurns() {
			if turn.GetSay() != "" {
				turn.Say += canary
			}
		}
	}
	return len(nodes)
}

// plantCell puts the canary into a wanted text. Roles and calls stay valid.
func plantCell(t *testing.T, cell *evaluationv1.TargetCell) {
	t.Helper()
	text, ok := cell.GetValue().GetKind().(*worldv1.Value_Text)
	switch {
	case !ok || cell.GetColumn() == "sender" || cell.GetColumn() == "recipient":
	case cell.GetColumn() == "tool_trace":
		var wanted any
		if err := json.Unmarshal([]byte(text.Text), &wanted); err != nil {
			t.Fatalf("target %s: %v", text.Text, err)
		}
		plantArguments(wanted)
		encoded, err := json.Marshal(wanted)
		if err != nil {
			t.Fatal(err)
		}
		text.Text = string(encoded)
	default:
		text.Text += " " + canary
	}
}

// plantArguments puts the canary into the texts among the arguments of one wanted call or several.
func plantArguments(wanted any) {
	switch wanted := wanted.(type) {
	case []any:
		for _, one := range wanted {
			plantArguments(one)
		}
	case map[string]any:
		arguments, _ := wanted["arguments"].(map[string]any)
		for name, value := range arguments {
			if text, ok := value.(string); ok {
				arguments[name] = text + canary
			}
		}
	}
}

// dial connects to a process directly.
func dial(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// provoke sends invalid requests to the services that players reach, and reads everything they
// return.
func provoke(t *testing.T, r *record.Recorder, services *cluster.Cluster) {
	t.Helper()
	gateway := agentgwv1.NewAgentGatewayServiceClient(dial(t, services.Address(cluster.AgentGateway)))
	host := toolhostv1.NewToolHostServiceClient(dial(t, services.Address(cluster.ToolHost)))
	sessions := []string{"none-" + leak}
	if listed, err := host.ListSessions(t.Context(), &toolhostv1.ListSessionsRequest{PageSize: 1000}); err == nil {
		for _, session := range listed.GetSessions() {
			sessions = append(sessions, session.GetId())
		}
	}
	calls := []func(context.Context) (proto.Message, error){
		func(ctx context.Context) (proto.Message, error) {
			return gateway.Respond(ctx, &agentgwv1.RespondRequest{})
		},
		func(ctx context.Context) (proto.Message, error) {
			return host.ListTools(ctx, &toolhostv1.ListToolsRequest{})
		},
		func(ctx context.Context) (proto.Message, error) {
			return host.CreateSession(ctx, &toolhostv1.CreateSessionRequest{})
		},
	}
	for _, id := range sessions {
		calls = append(calls,
			func(ctx context.Context) (proto.Message, error) {
				return host.GetSession(ctx, &toolhostv1.GetSessionRequest{SessionId: id})
			},
			func(ctx context.Context) (proto.Message, error) {
				return host.ReadTables(ctx, &toolhostv1.ReadTablesRequest{SessionId: id, Index: 1 << 20})
			},
			func(ctx context.Context) (proto.Message, error) {
				return host.Execute(ctx, &toolhostv1.ExecuteRequest{SessionId: id, Index: 1 << 20, Calls: []*worldv1.Message{{}}})
			},
		)
	}
	refused := 0
	for _, call := range calls {
		answer, err := call(t.Context())
		if err != nil {
			refused++
			r.Add("answers to wrong requests", []byte(err.Error()))
			continue
		}
		encoded, err := proto.Marshal(answer)
		if err != nil {
			t.Error(err)
		}
		r.Add("answers to wrong requests", encoded)
	}
	t.Logf("provoked %d errors in %d calls about %d sessions", refused, len(calls), len(sessions))
	if refused < 4 {
		t.Errorf("errors: got %d, want at least 4", refused)
	}
}

// describe reads the service descriptions that players reach. They do not know evaluations.
func describe(t *testing.T, r *record.Recorder, services *cluster.Cluster) {
	t.Helper()
	for _, name := range []string{cluster.AgentGateway, cluster.ToolHost} {
		stream, err := reflectionv1.NewServerReflectionClient(dial(t, services.Address(name))).ServerReflectionInfo(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ask := func(request *reflectionv1.ServerReflectionRequest) *reflectionv1.ServerReflectionResponse {
			if err := stream.Send(request); err != nil {
				t.Fatal(err)
			}
			answer, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			encoded, err := proto.Marshal(answer)
			if err != nil {
				t.Fatal(err)
			}
			r.Add("descriptions", encoded)
			if strings.Contains(string(encoded), "toolsandbox.evaluation") || strings.Contains(string(encoded), "toolsandbox/evaluation") {
				t.Errorf("%s describes evaluations when asked for %v", name, request)
			}
			return answer
		}
		list := ask(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}})
		for _, service := range list.GetListServicesResponse().GetService() {
			ask(&reflectionv1.ServerReflectionRequest{
				MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service.GetName()},
			})
		}
		if err := stream.CloseSend(); err != nil {
			t.Error(err)
		}
	}
}

// logs records the logs of all processes.
func logs(t *testing.T, r *record.Recorder, dir string) {
	t.Helper()
	for _, name := range append(cluster.Services(), cluster.NATS) {
		text, err := os.ReadFile(filepath.Join(dir, name+".log"))
		if err != nil {
			t.Error(err)
		}
		r.Add("log of "+name, text)
	}
}
