package orchestrator

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// TestTooManyRollouts asks for a sweep that satisfies all rules of its parts, and that no
// orchestrator has the memory for. Nothing of it is stored.
func TestTooManyRollouts(t *testing.T) {
	i := installServer(t)
	large := spec("one")
	large.Agents, large.Users, large.Trials = slices.Repeat(large.GetAgents(), 100), slices.Repeat(large.GetUsers(), 100), 100_000
	_, err := i.client.CreateSweep(within(t), &orchestratorv1.CreateSweepRequest{SweepId: "s", Spec: large})
	if want := "1000000000 given, expected at most 500000"; status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), want) {
		t.Errorf("CreateSweep: got %v, want %v with %q", err, codes.InvalidArgument, want)
	}
	if list, err := i.client.ListSweeps(within(t), &orchestratorv1.ListSweepsRequest{}); err != nil || len(list.GetSweeps()) > 0 {
		t.Errorf("ListSweeps: got %v and %v, want no sweep", list, err)
	}
}
