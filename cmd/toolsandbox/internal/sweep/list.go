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
	// pageSize is how many sweeps one answer holds.
	pageSize = 200
	// suggestSlack is how many edits an id may always be away from one that is suggested.
	suggestSlack = 2
)

// UnknownError says that there is no sweep of an id.
type UnknownError struct {
	// ID is the id.
	ID string
	// Nearest is the id of a sweep that may be meant, empty if there is none.
	Nearest string
}

// Error says which sweep may be meant.
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
			return nil, plain("list sweeps", err)
		}
		sweeps = append(sweeps, page.GetSweeps()...)
		if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
			return sweeps, nil
		}
	}
}

// Cancel cancels a sweep and returns what became of it: it is not cancelled if it had ended before.
// The error is an *UnknownError if there is no such sweep.
func Cancel(ctx context.Context, orchestrator orchestratorv1.OrchestratorServiceClient, id string) (*orchestratorv1.SweepInfo, error) {
	response, err := orchestrator.CancelSweep(ctx, &orchestratorv1.CancelSweepRequest{SweepId: id})
	if err != nil {
		return nil, Unknown(ctx, orchestrator, id, plain("cancel sweep", err))
	}
	return response.GetSweep(), nil
}

// Unknown returns an *UnknownError in place of an error that says that there is no sweep of an id.
func Unknown(ctx context.Context, orchestrator orchestratorv1.OrchestratorServiceClient, id string, err error) error {
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
