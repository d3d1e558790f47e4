package sweep

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

const (
	// pageSize is the number of sweeps per answer.
	pageSize = 200
	// suggestSlack is the edit distance that a suggested id may always have.
	suggestSlack = 2
)

// UnknownError means that no sweep has the id.
type UnknownError struct {
	// ID is the id.
	ID string
	// Nearest is the id of a similar sweep, empty if there is none.
	Nearest string
}

// Error suggests the similar sweep.
func (e *UnknownError) Error() string {
	if e.Nearest != "" {
		return fmt.Sprintf("there is no sweep %q: did you mean %q?", e.ID, e.Nearest)
	}
	return fmt.Sprintf("there is no sweep %q: see toolsandbox sweep list", e.ID)
}

// List returns all sweeps of an installation by id.
func List(ctx context.Context, orchestrator orchestratorv1.OrchestratorServiceClient) ([]*orchestratorv1.SweepInfo, error) {
	var sweeps []*orchestratorv1.SweepInfo
	request := &orchestratorv1.ListSweepsRequest{PageSize: pageSize}
	for {
		page, err := orchestrator.ListSweeps(ctx, request)
		if err != nil {
			return nil, WrapStatus("list sweeps", err)
		}
		sweeps = append(sweeps, page.GetSweeps()...)
		if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
			return sweeps, nil
		}
	}
}

// Cancel cancels a sweep and returns its state: a sweep that had ended is not cancelled. The error
// is an *UnknownError if there is no such sweep.
func Cancel(ctx context.Context, orchestrator orchestratorv1.OrchestratorServiceClient, id string) (*orchestratorv1.SweepInfo, error) {
	response, err := orchestrator.CancelSweep(ctx, &orchestratorv1.CancelSweepRequest{SweepId: id})
	if err != nil {
		return nil, ExplainUnknown(ctx, orchestrator, id, WrapStatus("cancel sweep", err))
	}
	return response.GetSweep(), nil
}

// ExplainUnknown replaces the services' error for an unknown sweep with an *UnknownError.
func ExplainUnknown(ctx context.Context, orchestrator orchestratorv1.OrchestratorServiceClient, id string, err error) error {
	if status.Code(err) != codes.NotFound {
		return err
	}
	sweeps, listErr := List(ctx, orchestrator)
	if listErr != nil {
		return err
	}
	ids := make([]string, len(sweeps))
	for i, sweep := range sweeps {
		ids[i] = sweep.GetId()
	}
	return &UnknownError{ID: id, Nearest: spelling.Nearest(id, ids, suggestSlack)}
}
