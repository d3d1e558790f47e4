package orchestrator

import (
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// ListAnswers answers for a session called s.0 alone.
func (toolHost) ListAnswers(req *toolhostv1.ListAnswersRequest, stream toolhostv1.ToolHostService_ListAnswersServer) error {
	if req.GetSessionId() != "s.0" {
		return status.Error(codes.NotFound, "no such session")
	}
	for _, url := range []string{"http://a", "http://b"} {
		answer := &toolhostv1.ServiceAnswer{Index: 3, Recording: &setupv1.RecordedAnswer{Url: url}}
		if err := stream.Send(&toolhostv1.ListAnswersResponse{Answer: answer}); err != nil {
			return err
		}
	}
	return nil
}

// turnItem and answerItem are items about a turn and about the execution at message 3. A reply may
// be nil, and a path of an exchange empty: there is none then.
func turnItem(index int32, reply *agentgwv1.Reply, path string) *orchestratorv1.RecordedItem {
	turn := &agentgwv1.RecordedTurn{Reply: reply}
	if path != "" {
		turn.Exchange = &agentgwv1.Exchange{Path: path}
	}
	return &orchestratorv1.RecordedItem{Index: index, Item: &orchestratorv1.RecordedItem_Turn{Turn: turn}}
}

func answerItem(n int32, url string) *orchestratorv1.RecordedItem {
	return &orchestratorv1.RecordedItem{Index: n, Item: &orchestratorv1.RecordedItem_Answer{
		Answer: &toolhostv1.ServiceAnswer{Index: 3, Recording: &setupv1.RecordedAnswer{Url: url}},
	}}
}

// recording reads the recording of a rollout.
func (i *installation) recording(t *testing.T, id string) []*orchestratorv1.RecordedItem {
	t.Helper()
	stream, err := i.client.GetRecording(within(t), &orchestratorv1.GetRecordingRequest{RolloutId: id})
	if err != nil {
		t.Fatal(err)
	}
	var items []*orchestratorv1.RecordedItem
	for {
		response, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return items
		}
		if err != nil {
			t.Fatalf("recording of %s: %v", id, err)
		}
		items = append(items, response.GetItem())
	}
}

func installRecorder(t *testing.T) *installation {
	t.Helper()
	i := install(t)
	host := toolhostv1.NewToolHostServiceClient(i.Conn(rpc.ToolHost))
	service := &server{bus: i.Bus().Orchestrator(), tools: host, done: i.ctx.Done()}
	i.serve(t, rpc.Orchestrator, func(r grpc.ServiceRegistrar) { orchestratorv1.RegisterOrchestratorServiceServer(r, service) })
	return i
}

// begin writes the log of a rollout that begins with one message, what was said then, and how it
// ended. A plug-in plays the agent.
func (i *installation) begin(t *testing.T, id string, recipient worldv1.Role, end *busv1.End, turns ...*busv1.Turn) {
	t.Helper()
	at, err := i.Bus().Append(t.Context(), id, &busv1.LogEntry{
		Start: &busv1.Start{
			Rollout: &busv1.Rollout{Id: id, HostedServices: toolhostv1.HostedServices_HOSTED_SERVICES_LIVE, Agent: &agentgwv1.Player{
				Name: "plugin", Kind: &agentgwv1.Player_Plugin{Plugin: &agentgwv1.Plugin{}},
			}},
			Messages:    []*worldv1.Message{{Sender: worldv1.Role_ROLE_USER, Recipient: recipient, ConversationActive: proto.Bool(true)}},
			MaxMessages: 9,
		},
	}, bus.Position{})
	for _, turn := range turns {
		if err == nil {
			at, err = i.Bus().Append(t.Context(), id, &busv1.LogEntry{Turns: []*busv1.Turn{turn}}, at)
		}
	}
	if err == nil {
		_, err = i.Bus().Append(t.Context(), id, &busv1.LogEntry{Claim: &busv1.Claim{}, End: end}, at)
	}
	if err != nil {
		t.Fatal(err)
	}
}

const (
	user        = worldv1.Role_ROLE_USER
	agent       = worldv1.Role_ROLE_AGENT
	environment = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
)

// said is the turn of one message, and replied what a recording has of it.
func said(index int32, sender, recipient worldv1.Role) *busv1.Turn {
	return &busv1.Turn{Usage: &agentgwv1.Usage{InputTokens: 3}, Messages: []*worldv1.Message{{
		Index: index, Sender: sender, Recipient: recipient, Body: &worldv1.Message_Text{Text: "hello"}, ConversationActive: proto.Bool(true),
	}}}
}

func replied(index int32, turn *busv1.Turn, path string) *orchestratorv1.RecordedItem {
	return turnItem(index, &agentgwv1.Reply{Messages: turn.GetMessages(), Usage: turn.GetUsage()}, path)
}

func TestGetRecording(t *testing.T) {
	i := installRecorder(t)
	cost := &agentgwv1.Usage{InputTokens: 9}
	executed := said(1, environment, agent)
	executed.ServiceAnswers = []*toolhostv1.ServiceAnswer{answerItem(0, "http://a").GetAnswer(), answerItem(1, "http://b").GetAnswer()}
	failed := func(index int32, class agentgwv1.FailureClass, path string) *orchestratorv1.RecordedItem {
		return turnItem(index, &agentgwv1.Reply{Usage: cost, Failure: &agentgwv1.Failure{Class: class, ExceptionType: "RuntimeError", Detail: "HTTP 401"}}, path)
	}
	asked := turnItem(1, nil, "/x")
	end := func(reason busv1.EndReason, class agentgwv1.FailureClass) *busv1.End {
		return &busv1.End{Reason: reason, FailureClass: class, ExceptionType: "RuntimeError", Detail: "HTTP 401", Usage: &busv1.TurnUsage{Usage: cost}}
	}
	const provider, model = agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER, agentgwv1.FailureClass_FAILURE_CLASS_MODEL
	infrastructure := end(busv1.EndReason_END_REASON_INFRASTRUCTURE, provider)
	type items = []*orchestratorv1.RecordedItem
	for _, test := range []struct {
		name, id  string
		recipient worldv1.Role
		turns     []*busv1.Turn
		end       *busv1.End
		want      items
	}{
		{"all kinds", "s.0", environment, []*busv1.Turn{executed, said(2, agent, user), said(3, user, agent)}, nil,
			items{asked, replied(2, said(2, agent, user), ""), answerItem(0, "http://a"), answerItem(1, "http://b")}},
		{"a provider failed", "s.1", agent, nil, infrastructure, items{failed(1, provider, "/x")}},
		{"a tool host failed", "s.2", environment, nil, infrastructure, items{asked}},
		{"a person failed", "s.3", user, nil, infrastructure, items{asked}},
		{"a model failed", "s.4", agent, []*busv1.Turn{said(1, agent, agent)}, end(busv1.EndReason_END_REASON_MODEL_FAILURE, model),
			items{replied(1, said(1, agent, agent), "/x"), failed(2, model, "")}},
		{"cancelled", "s.5", agent, nil, &busv1.End{Reason: busv1.EndReason_END_REASON_CANCELLED}, items{asked}},
	} {
		i.begin(t, test.id, test.recipient, test.end, test.turns...)
		raw, err := proto.Marshal(asked.GetTurn())
		if err != nil {
			t.Fatal(err)
		}
		if err := i.Bus().RecordTurn(t.Context(), bus.TurnRecord{RolloutID: test.id, Index: 1, Raw: raw}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, i.recording(t, test.id), protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	stream, err := i.client.GetRecording(within(t), &orchestratorv1.GetRecordingRequest{RolloutId: "nobody.0"})
	if err == nil {
		_, err = stream.Recv()
	}
	if got := status.Code(err); got != codes.NotFound {
		t.Errorf("unknown rollout: got %v, want NOT_FOUND", err)
	}
}

func TestPutRecording(t *testing.T) {
	i := installRecorder(t)
	items := []*orchestratorv1.RecordedItem{turnItem(1, &agentgwv1.Reply{Provider: "openai"}, "/x"), answerItem(0, "http://a")}
	put := func(items ...*orchestratorv1.RecordedItem) error {
		_, err := i.client.PutRecording(within(t), &orchestratorv1.PutRecordingRequest{RolloutId: "again.0", Items: items})
		return err
	}
	for range 2 { // repeating it is harmless
		if err := put(items...); err != nil {
			t.Fatal(err)
		}
	}
	var answers int
	count := func(int32, []byte) error { answers++; return nil }
	if err := i.Bus().Answers(t.Context(), "again.0", count); err != nil || answers != 1 {
		t.Errorf("answers: got %d and %v, want 1", answers, err)
	}
	i.begin(t, "again.0", worldv1.Role_ROLE_AGENT, nil)
	if diff := cmp.Diff([]*orchestratorv1.RecordedItem{turnItem(1, nil, "/x")}, i.recording(t, "again.0"), protocmp.Transform()); diff != "" {
		t.Errorf("what the next recording begins with (-want +got):\n%s", diff)
	}
	for name, other := range map[string]*orchestratorv1.RecordedItem{
		"turn": turnItem(1, &agentgwv1.Reply{Provider: "openai"}, "/y"), "answer": answerItem(0, "http://b"),
	} {
		if err := put(other); status.Code(err) != codes.AlreadyExists {
			t.Errorf("another %s: got %v, want ALREADY_EXISTS", name, err)
		}
	}
	if err := put(&orchestratorv1.RecordedItem{}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("an item of no kind: got %v, want INVALID_ARGUMENT", err)
	}
}
