package assemble_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/assemble"
)

// TestLargeRolloutsStayOnTheBus assembles rollouts that exceed MaxBytes. The trajectory has the
// number of messages, and reading it gives the complete one.
func TestLargeRolloutsStayOnTheBus(t *testing.T) {
	text := strings.Repeat("x", assemble.MaxBytes/3)
	message := func(index int32) *worldv1.Message {
		return &worldv1.Message{Index: index, Body: &worldv1.Message_Text{Text: text}}
	}
	stored := &worldv1.Table{Name: world.Setting, Index: 2, Rows: []*worldv1.Row{{}}}
	digest, err := world.Digest(stored)
	if err != nil {
		t.Fatal(err)
	}
	version := &worldv1.TableVersion{Name: stored.GetName(), Index: 2, Digest: digest}
	log := chain([]*busv1.LogEntry{
		{Start: &busv1.Start{Rollout: &busv1.Rollout{Id: "s.0"}, Messages: []*worldv1.Message{message(0)}, MaxMessages: 30}},
		{Turns: []*busv1.Turn{{Messages: []*worldv1.Message{message(1), message(2)}, Versions: []*worldv1.TableVersion{version}}}},
		{Turns: []*busv1.Turn{{Messages: []*worldv1.Message{message(3)}, Versions: []*worldv1.TableVersion{version}, EndedAtIndex: proto.Int32(1)}}, End: &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED}},
	}...)
	snapshots := []*busv1.Snapshot{{SessionId: "s.0", Tables: []*worldv1.Table{stored}}}
	a := assemble.New(map[string]int32{})
	a.AddSnapshot(snapshots[0])
	var got *assemble.Trajectory
	for i, entry := range log {
		trajectory, err := a.AddEntry("s.0", uint64(i+1), entry)
		if err != nil {
			t.Fatal(err)
		}
		got = trajectory
	}
	if got == nil || got.Omitted != 4 || got.Len() != 4 || len(got.Messages) != 0 || len(got.Tables) != 0 {
		t.Fatalf("trajectory: got %v, want a long one of 4 messages without them", got)
	}
	if partial := a.Partial("s.0"); partial == nil || partial.Omitted != 4 {
		t.Errorf("Partial: got %v, want a long one of 4 messages", partial)
	}
	since := chain(append(log[:len(log):len(log)], &busv1.LogEntry{Claim: &busv1.Claim{Round: 1}}, &busv1.LogEntry{Turns: []*busv1.Turn{{Messages: []*worldv1.Message{message(4)}}}})...)
	whole, err := got.WithOmitted(&bus.Log{Entries: since}, append(snapshots, snapshots...))
	if err != nil {
		t.Fatal(err)
	}
	ended := message(1)
	ended.ConversationActive = proto.Bool(false)
	want := &assemble.Trajectory{
		Rollout: &busv1.Rollout{Id: "s.0"}, Messages: []*worldv1.Message{message(0), ended, message(2), message(3)}, Tables: []*worldv1.Table{stored},
		Starting: 1, MaxMessages: 30, End: &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED}, Digest: log[2].GetDigest(),
	}
	if diff := cmp.Diff(want, whole, protocmp.Transform(), cmp.Comparer(func(a, b trace.SpanContext) bool { return a.Equal(b) })); diff != "" {
		t.Errorf("Read (-want +got):\n%s", diff)
	}
	if _, err := got.WithOmitted(&bus.Log{Entries: log[:1]}, nil); !errors.Is(err, assemble.ErrLog) {
		t.Errorf("Read of a log that lacks messages: got %v, want ErrLog", err)
	}
	if _, err := got.WithOmitted(&bus.Log{Entries: log}, nil); err == nil || !strings.Contains(err.Error(), "SETTING as it is at message 2 is missing") {
		t.Errorf("Read without snapshots: got %v, want what is missing", err)
	}
}
