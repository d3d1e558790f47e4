package evaluator

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// fullScore is the result of a rollout that reaches both milestones, without rollout and end.
func fullScore() *busv1.Result {
	return &busv1.Result{
		MilestoneSimilarity: 1, Similarity: 1, TurnCount: 4, MilestoneCount: 2, MessageCount: 4,
		Milestones: []*busv1.Match{{Node: 0, Index: 2, Similarity: 1}, {Node: 1, Index: 3, Similarity: 1}},
	}
}

// caused adds the cause at the end of a rollout of four messages.
func caused(result *busv1.Result, kind busv1.CauseKind, detail string) *busv1.Result {
	result.Causes = []*busv1.Cause{{Role: worldv1.Role_ROLE_AGENT, Kind: kind, Count: 1, Index: 4, Detail: detail}}
	return result
}

func TestResults(t *testing.T) {
	const (
		finished       = busv1.EndReason_END_REASON_FINISHED
		limit          = busv1.EndReason_END_REASON_MESSAGE_LIMIT
		cancelled      = busv1.EndReason_END_REASON_CANCELLED
		model          = busv1.EndReason_END_REASON_MODEL_FAILURE
		infrastructure = busv1.EndReason_END_REASON_INFRASTRUCTURE
	)
	s := newTestBus(t)
	cyclic, err := s.PutEvaluation(t.Context(), cycle())
	if err != nil {
		t.Fatal(err)
	}
	unscored := func() *busv1.Result { return &busv1.Result{MilestoneCount: 2, MessageCount: 4} }
	failed := caused(&busv1.Result{MilestoneCount: 2, MessageCount: 4, TurnCount: 30}, busv1.CauseKind_CAUSE_KIND_MODEL_FAILURE, "KeyError")
	broken := func(detail string) *busv1.Result {
		return &busv1.Result{End: &busv1.End{Reason: infrastructure, Detail: "cannot be scored: " + detail, FailureClass: agentgwv1.FailureClass_FAILURE_CLASS_INTERNAL}}
	}
	tests := []struct {
		name   string
		end    *busv1.End
		change func(*busv1.Rollout)
		want   *busv1.Result
	}{
		{"finished", ended(finished), nil, fullScore()},
		{"limit", ended(limit), nil, caused(fullScore(), busv1.CauseKind_CAUSE_KIND_MESSAGE_LIMIT, "")},
		{"model failure", &busv1.End{Reason: model, ExceptionType: "KeyError", Detail: "'x'"}, nil, failed},
		{"infrastructure", &busv1.End{Reason: infrastructure, Detail: "no network"}, nil, unscored()},
		{"cancelled", ended(cancelled), nil, unscored()},
		{"unknown evaluation", ended(finished), func(r *busv1.Rollout) { r.EvaluationDigest = unknownDigest }, broken("its evaluation was never stored")},
		{"unknown setup", ended(finished), func(r *busv1.Rollout) { r.SetupDigest = unknownDigest }, broken("its setup is no longer stored")},
		{"impossible evaluation", ended(finished), func(r *busv1.Rollout) { r.EvaluationDigest = cyclic }, broken("milestones.edges[1]: the order has a cycle: number 0 before number 1 before number 0")},
	}
	for i, test := range tests {
		rollout := s.rollout(fmt.Sprintf("s.%d", i))
		if test.change != nil {
			test.change(rollout)
		}
		test.want.Rollout = rollout
		if test.want.End == nil {
			test.want.End = test.end
		}
		s.play(t, rollout, test.end)
	}
	s.run(t)
	got := s.results(t, len(tests))
	for i, test := range tests {
		result := got[fmt.Sprintf("s.%d", i)]
		if diff := cmp.Diff(test.want, result, protocmp.Transform(), protocmp.IgnoreFields(&busv1.Result{}, "log_digest")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if test.want.GetMessageCount() == 0 {
			continue // the rollout has no score
		}
		log, err := s.ReadLog(t.Context(), result.GetRollout().GetId())
		if err != nil || string(log.End.Digest) != string(result.GetLogDigest()) {
			t.Errorf("%s: got digest %x and %v, want that of the log, %x", test.name, result.GetLogDigest(), err, log.End.Digest)
		}
	}
}

// TestBrokenLogDoesNotStopOthers checks that a rollout with a broken log has no result, and that
// the others have theirs.
func TestBrokenLogDoesNotStopOthers(t *testing.T) {
	s := newTestBus(t)
	if _, err := s.Append(t.Context(), "s.0", &busv1.LogEntry{End: ended(busv1.EndReason_END_REASON_FINISHED)}, bus.Position{}); err != nil {
		t.Fatal(err)
	}
	s.play(t, s.rollout("s.1"), ended(busv1.EndReason_END_REASON_FINISHED))
	s.run(t)
	if got := s.results(t, 1); got["s.1"] == nil {
		t.Errorf("results: got %v, want one of s.1", got)
	}
}

// TestLateSnapshot publishes the snapshot last, as seen by an evaluator that is behind on one
// stream.
func TestLateSnapshot(t *testing.T) {
	s := newTestBus(t)
	s.run(t)
	s.log(t, s.rollout("s.0"), ended(busv1.EndReason_END_REASON_FINISHED))
	s.play(t, s.rollout("s.1"), ended(busv1.EndReason_END_REASON_FINISHED))
	if got := s.results(t, 1); got["s.1"] == nil {
		t.Errorf("results before the snapshot: got %v, want one of s.1", got)
	}
	s.snapshot(t, "s.0")
	if got := s.results(t, 2)["s.0"]; got.GetSimilarity() != 1 {
		t.Errorf("result after the snapshot: got %v, want similarity 1", got)
	}
}

func TestTwoEvaluatorsPublishOneResult(t *testing.T) {
	s := newTestBus(t)
	const n = 20
	stops := []func(){s.run(t), s.run(t)}
	for i := range n {
		s.play(t, s.rollout(fmt.Sprintf("s.%d", i)), ended(busv1.EndReason_END_REASON_FINISHED))
	}
	s.results(t, n)
	for _, stop := range stops {
		stop()
	}
	for id, result := range s.results(t, n) { // fails on a second result
		if result.GetSimilarity() != 1 {
			t.Errorf("similarity of %s: got %v, want 1", id, result.GetSimilarity())
		}
	}
}

// TestRestart checks that an evaluator scores exactly the rollouts that its stopped predecessor has
// not scored.
func TestRestart(t *testing.T) {
	s := newTestBus(t)
	finished := ended(busv1.EndReason_END_REASON_FINISHED)
	stop := s.run(t)
	s.play(t, s.rollout("s.0"), finished)
	s.snapshot(t, "s.1") // half of it before, half after the restart
	s.results(t, 1)
	stop()
	s.log(t, s.rollout("s.1"), finished)
	s.play(t, s.rollout("s.2"), finished)
	s.run(t)
	for id, result := range s.results(t, 3) {
		if result.GetSimilarity() != 1 {
			t.Errorf("similarity of %s: got %v, want 1", id, result.GetSimilarity())
		}
	}
}

// cycle returns an evaluation with a cycle.
func cycle() *evaluationv1.Evaluation {
	return &evaluationv1.Evaluation{Milestones: &evaluationv1.Graph{
		Nodes: []*evaluationv1.Node{says("a"), says("b")},
		Edges: []*evaluationv1.Edge{{Before: 0, After: 1}, {Before: 1, After: 0}},
	}}
}

// start runs the service in a node of this process.
func start(t *testing.T) (*testBus, evaluatorv1.EvaluatorServiceClient) {
	t.Helper()
	cfg := rpc.DefaultConfig()
	cfg.Grace = 100 * time.Millisecond
	m, err := rpc.Open(t.Context(), cfg, t.TempDir(), rpc.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- Run(ctx, DefaultConfig(), m, m.Bus().Evaluator()) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ran; err != nil {
			t.Errorf("Run: got %v, want nil", err)
		}
		if err := m.Close(); err != nil {
			t.Errorf("close node: %v", err)
		}
	})
	return testBusOn(t, m.Bus()), evaluatorv1.NewEvaluatorServiceClient(m.Conn(rpc.Evaluator))
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	t.Cleanup(cancel)
	return ctx
}

func TestScoreTrajectoryEqualsTheStreamedScore(t *testing.T) {
	s, client := start(t)
	s.play(t, s.rollout("s.0"), ended(busv1.EndReason_END_REASON_FINISHED))
	streamed := proto.CloneOf(s.results(t, 1)["s.0"])
	whole, err := client.ScoreTrajectory(within(t), &evaluatorv1.ScoreTrajectoryRequest{
		Evaluation: evaluation(), Messages: messages(), Tables: []*worldv1.Table{contacts(0), contacts(2, "Ann")},
	})
	if err != nil {
		t.Fatal(err)
	}
	streamed.Rollout, streamed.End, streamed.LogDigest = nil, nil, nil
	for name, got := range map[string]*busv1.Result{"ScoreTrajectory": whole.GetResult(), "streamed": streamed} {
		if diff := cmp.Diff(fullScore(), got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestPutEvaluations(t *testing.T) {
	s, client := start(t)
	put := func(named ...*evaluatorv1.NamedEvaluation) ([]string, error) {
		response, err := client.PutEvaluations(within(t), &evaluatorv1.PutEvaluationsRequest{Evaluations: named})
		return response.GetDigests(), err
	}
	empty := &evaluatorv1.NamedEvaluation{Scenario: "empty", Evaluation: &evaluationv1.Evaluation{}}
	good := &evaluatorv1.NamedEvaluation{Scenario: "good", Evaluation: evaluation()}
	for range 2 {
		got, err := put(empty, good)
		if err != nil || len(got) != 2 || got[1] != s.evaluation || got[0] == got[1] {
			t.Errorf("PutEvaluations: got %v, %v, want another digest and %s", got, err, s.evaluation)
		}
	}
	waiting := &evaluationv1.Evaluation{Minefields: &evaluationv1.Graph{
		Nodes: []*evaluationv1.Node{adds("a"), adds("b")},
		Edges: []*evaluationv1.Edge{{Before: 0, After: 1}},
	}}
	waiting.GetMinefields().GetNodes()[0].GetConstraints()[0].Reference = proto.Int32(1)
	fresh := &evaluatorv1.NamedEvaluation{Scenario: "fresh", Evaluation: &evaluationv1.Evaluation{Milestones: &evaluationv1.Graph{Nodes: []*evaluationv1.Node{says("fresh")}}}}
	tests := []struct {
		name       string
		evaluation *evaluationv1.Evaluation
		want       []string
	}{
		{"a cycle of edges", cycle(), []string{"scenario bad", "milestones.edges[1]", "the order has a cycle: number 0 before number 1 before number 0"}},
		{"a cycle through a reference", waiting, []string{"scenario bad", "minefields.nodes[0].constraints[0].reference", `"number 1" does not come before "number 0"`}},
		{"an unknown column", &evaluationv1.Evaluation{Milestones: &evaluationv1.Graph{Nodes: []*evaluationv1.Node{{Constraints: []*evaluationv1.Constraint{
			says("a").GetConstraints()[0],
			{Table: contact, Measure: evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_SNAPSHOT, Target: says("a").GetConstraints()[0].GetTarget()},
		}}}}}, []string{"scenario bad", `milestones.nodes[0].constraints[1].target[0].cells[0].column: contact has no column "content"`}},
		{"no evaluation", nil, []string{"evaluations[1].evaluation"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := put(fresh, &evaluatorv1.NamedEvaluation{Scenario: "bad", Evaluation: test.evaluation})
			for _, want := range test.want {
				if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), want) {
					t.Errorf("PutEvaluations: got %v, want %v with %q", err, codes.InvalidArgument, want)
				}
			}
		})
	}
	digest, err := put(fresh)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Evaluation(t.Context(), digest[0]); err != nil {
		t.Errorf("stored evaluation: got %v, want nil", err)
	}
}

func TestRequestErrors(t *testing.T) {
	_, client := start(t)
	ctx := within(t)
	score := func(request *evaluatorv1.ScoreTrajectoryRequest) error {
		_, err := client.ScoreTrajectory(ctx, request)
		return err
	}
	watch := func(id string) error {
		stream, err := client.WatchScore(ctx, &evaluatorv1.WatchScoreRequest{RolloutId: id})
		if err != nil {
			return err
		}
		_, err = stream.Recv()
		return err
	}
	tests := []struct {
		name string
		err  error
		code codes.Code
		text string
	}{
		{"score of an unknown rollout", watch("s.9"), codes.NotFound, "s.9"},
		{"score of no name", watch("a b"), codes.InvalidArgument, "rollout_id"},
		{"cyclic graph", score(&evaluatorv1.ScoreTrajectoryRequest{Evaluation: cycle(), Messages: messages()}), codes.InvalidArgument, "cycle"},
		{"gap between messages", score(&evaluatorv1.ScoreTrajectoryRequest{Evaluation: evaluation(), Messages: messages()[1:]}), codes.InvalidArgument, "message 0 has index 1"},
		{"versions in no order", score(&evaluatorv1.ScoreTrajectoryRequest{
			Evaluation: evaluation(), Messages: messages(), Tables: []*worldv1.Table{contacts(2), contacts(0)},
		}), codes.InvalidArgument, "version 0 follows 2"},
		{"no messages", score(&evaluatorv1.ScoreTrajectoryRequest{Evaluation: evaluation()}), codes.InvalidArgument, "messages"},
	}
	for _, test := range tests {
		if status.Code(test.err) != test.code || !strings.Contains(test.err.Error(), test.text) {
			t.Errorf("%s: got %v, want %v with %q", test.name, test.err, test.code, test.text)
		}
	}
}

func TestConfigValidate(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Errorf("Validate of the default: got %v, want nil", err)
	}
	for _, scorers := range []int{0, 1025} {
		cfg := Config{Scorers: scorers}
		if err := cfg.Validate(); err == nil || !strings.HasPrefix(err.Error(), "--evaluator-scorers: ") {
			t.Errorf("Validate of %d scorers: got %v, want an error about --evaluator-scorers", scorers, err)
		}
		if err := Run(t.Context(), cfg, nil, bus.Evaluator{}); err == nil {
			t.Errorf("Run with %d scorers: got nil, want an error", scorers)
		}
	}
}
