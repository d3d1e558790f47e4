package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/world"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait for something that must happen.
const patience = time.Minute

// toolHost knows two tools. A session of it has no tools and answers nothing.
type toolHost struct {
	toolhostv1.UnimplementedToolHostServiceServer
}

func (toolHost) ListTools(context.Context, *toolhostv1.ListToolsRequest) (*toolhostv1.ListToolsResponse, error) {
	response := &toolhostv1.ListToolsResponse{}
	for _, name := range []string{"set_wifi_status", "search_contacts"} {
		response.Tools = append(response.Tools, &toolhostv1.ToolInfo{Tool: &worldv1.Tool{Name: name, ExecutionName: name}})
	}
	return response, nil
}

func (toolHost) CreateSession(context.Context, *toolhostv1.CreateSessionRequest) (*toolhostv1.CreateSessionResponse, error) {
	return &toolhostv1.CreateSessionResponse{}, nil
}

// installation is a node at which the tool host is served.
type installation struct {
	*rpc.Node
	client orchestratorv1.OrchestratorServiceClient
	tasks  sync.WaitGroup
	ctx    context.Context
	stop   context.CancelFunc
}

func install(t *testing.T, changes ...func(*rpc.Config)) *installation {
	t.Helper()
	cfg := rpc.DefaultConfig()
	cfg.Grace = 100 * time.Millisecond
	for _, change := range changes {
		change(&cfg)
	}
	m, err := rpc.Open(t.Context(), cfg, t.TempDir(), rpc.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	i := &installation{Node: m, client: orchestratorv1.NewOrchestratorServiceClient(m.Conn(rpc.Orchestrator))}
	i.ctx, i.stop = context.WithCancel(t.Context())
	t.Cleanup(func() {
		i.stop()
		i.tasks.Wait()
		if err := m.Close(); err != nil {
			t.Errorf("close node: %v", err)
		}
	})
	i.serve(t, rpc.ToolHost, func(r grpc.ServiceRegistrar) { toolhostv1.RegisterToolHostServiceServer(r, toolHost{}) })
	return i
}

// serve serves a service until the installation stops.
func (i *installation) serve(t *testing.T, s rpc.Service, register func(grpc.ServiceRegistrar)) {
	t.Helper()
	i.tasks.Go(func() {
		if err := i.Serve(i.ctx, s, register); err != nil {
			t.Errorf("serve %s: got %v, want nil", s, err)
		}
	})
}

// installServer serves the orchestrator without a worker.
func installServer(t *testing.T) *installation {
	t.Helper()
	return installSilent(t, progressInterval)
}

// installSilent is installServer for an orchestrator whose watches are told after a time of silence
// what is still to come.
func installSilent(t *testing.T, after time.Duration) *installation {
	t.Helper()
	i := install(t)
	service := newServer(t, i)
	service.progressInterval = after
	i.serve(t, rpc.Orchestrator, func(r grpc.ServiceRegistrar) { orchestratorv1.RegisterOrchestratorServiceServer(r, service) })
	return i
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func player(name string) *agentgwv1.Player {
	return &agentgwv1.Player{Name: name, Kind: &agentgwv1.Player_Unhelpful{Unhelpful: &agentgwv1.Unhelpful{}}}
}

func spec(scenarios ...string) *orchestratorv1.SweepSpec {
	s := &orchestratorv1.SweepSpec{Agents: []*agentgwv1.Player{player("a")}, Users: []*agentgwv1.Player{player("u")}, Trials: 1}
	for _, name := range scenarios {
		s.Scenarios = append(s.Scenarios, &orchestratorv1.SweepScenario{
			Setup: &setupv1.Setup{
				Name: name, MaxMessages: 2, Clock: &setupv1.Clock{TimeZone: "UTC"},
				Messages: []*worldv1.Message{{Sender: worldv1.Role_ROLE_USER, Recipient: worldv1.Role_ROLE_AGENT, Body: &worldv1.Message_Text{Text: "hello"}}},
				Tables:   []*worldv1.Table{{Name: world.Contact}, {Name: world.Reminder}},
			},
			EvaluationDigest: strings.Repeat("0", 64),
		})
	}
	return s
}

func (i *installation) create(t *testing.T, id string, spec *orchestratorv1.SweepSpec) *orchestratorv1.CreateSweepResponse {
	t.Helper()
	response, err := i.client.CreateSweep(within(t), &orchestratorv1.CreateSweepRequest{SweepId: id, Spec: spec})
	if err != nil {
		t.Fatalf("CreateSweep(%s): %v", id, err)
	}
	return response
}

// finish stores the result of a rollout.
func (i *installation) finish(t *testing.T, id string, reason busv1.EndReason) {
	t.Helper()
	if _, err := i.Bus().PublishResult(t.Context(), &busv1.Result{Rollout: &busv1.Rollout{Id: id}, End: &busv1.End{Reason: reason}}); err != nil {
		t.Fatal(err)
	}
}

// queued takes all jobs out of the queue and returns their rollouts in order.
func (i *installation) queued(t *testing.T, want int) []string {
	t.Helper()
	queue, err := i.Bus().OpenQueue(t.Context(), "s", jobLease)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for len(ids) < want {
		jobs, err := queue.Fetch(within(t), 100, patience)
		if err != nil || len(jobs) == 0 {
			t.Fatalf("jobs: got %v and %v, want %d", ids, err, want)
		}
		for _, job := range jobs {
			ids = append(ids, job.Rollout.GetId())
			if err := job.DoubleAck(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return ids
}

func TestCreateSweepIsIdempotentAndGoesOn(t *testing.T) {
	i := installServer(t)
	for range 2 {
		got := i.create(t, "s", spec("one", "two", "three"))
		if diff := cmp.Diff(&orchestratorv1.CreateSweepResponse{Total: 3}, got, protocmp.Transform()); diff != "" {
			t.Errorf("CreateSweep (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff([]string{"s.0", "s.1", "s.2"}, i.queued(t, 3)); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	i.finish(t, "s.1", busv1.EndReason_END_REASON_FINISHED)
	i.finish(t, "other.0", busv1.EndReason_END_REASON_FINISHED)
	got := i.create(t, "s", spec("one", "two", "three"))
	if diff := cmp.Diff(&orchestratorv1.CreateSweepResponse{Total: 3, Done: 1}, got, protocmp.Transform()); diff != "" {
		t.Errorf("CreateSweep after a result (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"s.0", "s.2"}, i.queued(t, 2)); diff != "" {
		t.Errorf("jobs after a result (-want +got):\n%s", diff)
	}
}

// TestParallelMayChange creates a sweep again, in later rounds, with another number of rollouts at
// once: what is queued from then on has it. Repeating the creation of an earlier round changes
// nothing.
func TestParallelMayChange(t *testing.T) {
	i := installServer(t)
	queue, err := i.Bus().OpenQueue(t.Context(), "s", jobLease)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ parallel, round, want int32 }{{16, 0, 16}, {2, 1, 2}, {0, 2, 0}, {9, 1, 0}} {
		again := spec("one")
		again.Parallel = step.parallel
		if _, err := i.client.CreateSweep(within(t), &orchestratorv1.CreateSweepRequest{SweepId: "s", Spec: again, Round: step.round}); err != nil {
			t.Fatal(err)
		}
		jobs, err := queue.Fetch(within(t), 100, patience)
		if err != nil || len(jobs) != 1 || jobs[0].Parallel != int(step.want) {
			t.Fatalf("jobs after %+v: got %v and %v, want one", step, jobs, err)
		}
		if err := jobs[0].DoubleAck(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCreateSweepRefuses(t *testing.T) {
	i := installServer(t)
	i.create(t, "s", spec("one"))
	tools := func(selection *setupv1.ToolSelection) *orchestratorv1.SweepSpec {
		s := spec("one", "two")
		s.GetScenarios()[1].Setup.Tools = selection
		return s
	}
	tests := []struct {
		name string
		id   string
		spec *orchestratorv1.SweepSpec
		code codes.Code
		text string
	}{
		{"another specification", "s", spec("one", "two"), codes.AlreadyExists, "s: already on the bus with other content"},
		{"unknown allowed tool", "t", tools(&setupv1.ToolSelection{Allow: []string{"search_contacts", "set_wify"}}), codes.InvalidArgument, `scenario two: unknown tool "set_wify"`},
		{"unknown denied tool", "t", tools(&setupv1.ToolSelection{Deny: []string{"x"}}), codes.InvalidArgument, `scenario two: unknown tool "x"`},
		{"unknown tool of the user", "t", tools(&setupv1.ToolSelection{User: []string{"y"}}), codes.InvalidArgument, `scenario two: unknown tool "y"`},
		{
			"unknown described tool", "t", tools(&setupv1.ToolSelection{Descriptions: []*setupv1.ToolDescription{{Tool: "z"}}}), codes.InvalidArgument,
			`scenario two: unknown tool "z"`,
		},
		{"no scenario", "t", spec(), codes.InvalidArgument, "spec.scenarios"},
		{"unusable id", "a.b", spec("one"), codes.InvalidArgument, "sweep_id"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := i.client.CreateSweep(within(t), &orchestratorv1.CreateSweepRequest{SweepId: test.id, Spec: test.spec})
			if status.Code(err) != test.code || !strings.Contains(err.Error(), test.text) {
				t.Errorf("CreateSweep: got %v, want %v with %q", err, test.code, test.text)
			}
		})
	}
	if sweeps := i.list(t, 0, "").GetSweeps(); len(sweeps) != 1 {
		t.Errorf("sweeps after refusals: got %v, want the first one only", sweeps)
	}
}

func (i *installation) list(t *testing.T, size int32, token string) *orchestratorv1.ListSweepsResponse {
	t.Helper()
	response, err := i.client.ListSweeps(within(t), &orchestratorv1.ListSweepsRequest{PageSize: size, PageToken: token})
	if err != nil {
		t.Fatalf("ListSweeps: %v", err)
	}
	return response
}

func TestListSweeps(t *testing.T) {
	i := installServer(t)
	if got := i.list(t, 0, ""); len(got.GetSweeps()) != 0 || got.GetNextPageToken() != "" {
		t.Errorf("ListSweeps of nothing: got %v, want nothing", got)
	}
	for _, id := range []string{"c", "a", "b-10", "b", "b-9"} {
		i.create(t, id, spec("one", "two"))
	}
	i.finish(t, "b.1", busv1.EndReason_END_REASON_FINISHED)
	if _, err := i.client.CancelSweep(within(t), &orchestratorv1.CancelSweepRequest{SweepId: "c"}); err != nil {
		t.Fatal(err)
	}
	i.finish(t, "c.0", busv1.EndReason_END_REASON_CANCELLED)
	for _, size := range []int32{0, 1, 2, 5} {
		var got []string
		for token := ""; ; {
			page := i.list(t, size, token)
			if n := len(page.GetSweeps()); size > 0 && n > int(size) {
				t.Errorf("page of size %d: got %d sweeps", size, n)
			}
			for _, info := range page.GetSweeps() {
				got = append(got, fmt.Sprintf("%s %d/%d %v", info.GetId(), info.GetProgress().GetDone(), info.GetProgress().GetTotal(), info.GetCancelled()))
			}
			if token = page.GetNextPageToken(); token == "" {
				break
			}
		}
		want := []string{"a 0/2 false", "b 1/2 false", "b-10 0/2 false", "b-9 0/2 false", "c 0/2 true"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sweeps by pages of %d (-want +got):\n%s", size, diff)
		}
	}
	if got := i.list(t, 0, "zzz"); len(got.GetSweeps()) != 0 {
		t.Errorf("ListSweeps behind the last: got %v, want nothing", got)
	}
}

func TestUnknownNames(t *testing.T) {
	i := installServer(t)
	ctx := within(t)
	_, cancelErr := i.client.CancelSweep(ctx, &orchestratorv1.CancelSweepRequest{SweepId: "s"})
	_, trajectoryErr := i.client.GetTrajectory(ctx, &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.0"})
	stream, err := i.client.WatchSweep(ctx, &orchestratorv1.WatchSweepRequest{SweepId: "s"})
	if err != nil {
		t.Fatal(err)
	}
	_, watchErr := stream.Recv()
	for call, err := range map[string]error{"CancelSweep": cancelErr, "GetTrajectory": trajectoryErr, "WatchSweep": watchErr} {
		if status.Code(err) != codes.NotFound {
			t.Errorf("%s: got %v, want %v", call, err, codes.NotFound)
		}
	}
}

// watch opens a watch; next returns the next event as a text, "" behind the last.
func (i *installation) watch(t *testing.T) (next func() string) {
	t.Helper()
	stream, err := i.client.WatchSweep(within(t), &orchestratorv1.WatchSweepRequest{SweepId: "s"})
	if err != nil {
		t.Fatal(err)
	}
	return func() string {
		t.Helper()
		event, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return ""
		case err != nil:
			return status.Code(err).String()
		case event.GetProgress() != nil:
			return fmt.Sprintf("%d of %d", event.GetProgress().GetDone(), event.GetProgress().GetTotal())
		case event.GetResult() != nil:
			return event.GetResult().GetRollout().GetId()
		default:
			return strings.TrimSuffix(fmt.Sprintf("end, cancelled %v, %s", event.GetEnd().GetCancelled(), event.GetEnd().GetExhausted()), ", ")
		}
	}
}

func expect(t *testing.T, next func() string, want ...string) {
	t.Helper()
	for _, event := range want {
		if got := next(); got != event {
			t.Fatalf("event: got %q, want %q", got, event)
		}
	}
}

func TestWatchSweep(t *testing.T) {
	i := installServer(t)
	i.create(t, "s", spec("one", "two", "three"))
	i.create(t, "other", spec("one"))
	i.finish(t, "s.1", busv1.EndReason_END_REASON_FINISHED)
	i.finish(t, "other.0", busv1.EndReason_END_REASON_FINISHED)
	next := i.watch(t)
	expect(t, next, "1 of 3", "s.1")
	i.finish(t, "s.2", busv1.EndReason_END_REASON_FINISHED)
	expect(t, next, "s.2")
	i.finish(t, "s.0", busv1.EndReason_END_REASON_INFRASTRUCTURE)
	expect(t, next, "s.0", "end, cancelled false", "")
	expect(t, i.watch(t), "3 of 3", "s.1", "s.2", "s.0", "end, cancelled false", "")
}

func TestWatchCancelledSweep(t *testing.T) {
	i := installServer(t)
	i.create(t, "s", spec("one", "two", "three"))
	i.finish(t, "s.0", busv1.EndReason_END_REASON_FINISHED)
	next := i.watch(t)
	expect(t, next, "1 of 3", "s.0")
	for range 2 {
		if _, err := i.client.CancelSweep(within(t), &orchestratorv1.CancelSweepRequest{SweepId: "s"}); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, next, "end, cancelled true", "")
	expect(t, i.watch(t), "1 of 3", "s.0", "end, cancelled true", "")
	i.finish(t, "s.1", busv1.EndReason_END_REASON_CANCELLED)
	i.finish(t, "s.2", busv1.EndReason_END_REASON_CANCELLED)
	expect(t, i.watch(t), "3 of 3", "s.0", "s.1", "s.2", "end, cancelled true", "")
}

// A sweep that is cancelled when it is complete already was not cancelled.
func TestWatchSweepCancelledTooLate(t *testing.T) {
	i := installServer(t)
	i.create(t, "s", spec("one"))
	i.finish(t, "s.0", busv1.EndReason_END_REASON_FINISHED)
	response, err := i.client.CancelSweep(within(t), &orchestratorv1.CancelSweepRequest{SweepId: "s"})
	if err != nil || response.GetSweep().GetCancelled() || response.GetSweep().GetProgress().GetDone() != 1 {
		t.Errorf("CancelSweep: got %v, %v, want a sweep that ended and is not cancelled", response, err)
	}
	expect(t, i.watch(t), "1 of 1", "s.0", "end, cancelled false", "")
	if info := i.list(t, 0, "").GetSweeps()[0]; info.GetCancelled() {
		t.Errorf("the sweep: got %v, want it not cancelled", info)
	}
}

func TestWatchEndsWhenTheServerStops(t *testing.T) {
	i := installServer(t)
	i.create(t, "s", spec("one"))
	next := i.watch(t)
	expect(t, next, "0 of 1")
	i.stop()
	expect(t, next, codes.Unavailable.String())
}

// contactLog is the log of a rollout whose second turn stores a version of the contacts.
func contactLog(rollout *busv1.Rollout, digest []byte) []*busv1.LogEntry {
	say := func(index int32, sender, recipient worldv1.Role) []*worldv1.Message {
		return []*worldv1.Message{{Index: index, Sender: sender, Recipient: recipient, ConversationActive: proto.Bool(true)}}
	}
	return []*busv1.LogEntry{
		{
			Start: &busv1.Start{Rollout: rollout, Messages: say(0, worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT), MaxMessages: 9},
			Claim: &busv1.Claim{Started: timestamppb.Now()},
		},
		{Turns: []*busv1.Turn{{Messages: say(1, worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT)}}},
		{Turns: []*busv1.Turn{{
			Messages: say(2, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, worldv1.Role_ROLE_AGENT), EndedAtIndex: proto.Int32(1),
			Versions: []*worldv1.TableVersion{{Name: world.Contact, Index: 2, Digest: digest}},
		}}},
		{End: &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED}},
	}
}

func TestGetTrajectory(t *testing.T) {
	i := installServer(t)
	i.create(t, "s", spec("one"))
	sweep, err := i.Bus().Sweep(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	const contact = world.Contact
	rollout := &busv1.Rollout{Id: "s.0", SweepId: "s", SetupDigest: sweep.GetScenarios()[0].GetSetupDigest()}
	digest, err := world.Digest(&worldv1.Table{Name: contact, Index: 2, Rows: []*worldv1.Row{{}}})
	if err != nil {
		t.Fatal(err)
	}
	entries := contactLog(rollout, digest)
	for _, index := range []int32{2, 2, 3} { // the last one's answers are not in the log
		table := &worldv1.Table{Name: contact, Index: index, Rows: []*worldv1.Row{{}}}
		if err := i.Bus().PublishSnapshot(t.Context(), &busv1.Snapshot{SessionId: "s.0", Tables: []*worldv1.Table{table}}); err != nil {
			t.Fatal(err)
		}
	}
	trajectory := func() *orchestratorv1.GetTrajectoryResponse {
		got, err := i.client.GetTrajectory(within(t), &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.0"})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	var last bus.Position
	for n, entry := range entries {
		if last, err = i.Bus().Append(t.Context(), "s.0", entry, last); err != nil {
			t.Fatal(err)
		}
		got := trajectory()
		if ended, messages := got.GetEnd() != nil, len(got.GetMessages()); ended != (n == 3) || messages != min(n+1, 3) {
			t.Errorf("after entry %d: got %d messages and ended %t, want %d and %t", n, messages, ended, min(n+1, 3), n == 3)
		}
	}
	got := trajectory()
	if start, updated := got.GetStarted().AsTime(), got.GetUpdated().AsTime(); !start.Before(updated) || time.Since(start) > time.Minute {
		t.Errorf("times: got %v and %v, want two of just now, in order", start, updated)
	}
	if string(got.GetLogDigest()) != string(last.Digest) {
		t.Errorf("digest: got %x, want that of the last entry, %x", got.GetLogDigest(), last.Digest)
	}
	if work := got.GetWork(); len(work) != 1 || !proto.Equal(work[0].GetStarted(), got.GetStarted()) || !proto.Equal(work[0].GetEnded(), got.GetUpdated()) {
		t.Errorf("work: got %v, want one worker's from the start to the end", work)
	}
	got.Started, got.Updated, got.LogDigest, got.Work = nil, nil, nil, nil
	messages := slices.Concat(entries[0].GetStart().GetMessages(), entries[1].GetTurns()[0].GetMessages(), entries[2].GetTurns()[0].GetMessages())
	messages[1] = proto.CloneOf(messages[1])
	messages[1].ConversationActive = proto.Bool(false)
	want := &orchestratorv1.GetTrajectoryResponse{
		Rollout: rollout, Messages: messages, StartingMessages: 1, End: entries[3].GetEnd(),
		Tables: []*worldv1.Table{{Name: contact}, {Name: contact, Index: 2, Rows: []*worldv1.Row{{}}}, {Name: world.Reminder}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("GetTrajectory (-want +got):\n%s", diff)
	}
}
