package sweep

import (
	"context"
	"errors"

	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// ErrSeveral means that an installation has no sweep, or more than one.
var ErrSeveral = errors.New("there is not exactly one sweep: name one of toolsandbox sweep list")

// Get returns the state of a sweep with its counts and spending. The error is an *UnknownError if
// there is no such sweep.
func Get(ctx context.Context, orchestrator orchestratorv1.OrchestratorServiceClient, id string) (*orchestratorv1.SweepInfo, error) {
	response, err := orchestrator.GetSweep(ctx, &orchestratorv1.GetSweepRequest{SweepId: id, Detailed: true})
	if err != nil {
		return nil, ExplainUnknown(ctx, orchestrator, id, WrapStatus("read sweep", err))
	}
	return response.GetSweep(), nil
}

// Update changes a sweep and returns its state after that. Errors are those of Get.
func Update(
	ctx context.Context, orchestrator orchestratorv1.OrchestratorServiceClient, request *orchestratorv1.UpdateSweepRequest,
) (*orchestratorv1.SweepInfo, error) {
	response, err := orchestrator.UpdateSweep(ctx, request)
	if err != nil {
		return nil, ExplainUnknown(ctx, orchestrator, request.GetSweepId(), WrapStatus("change sweep", err))
	}
	return response.GetSweep(), nil
}

// Requeue queues the rollouts of a sweep that have ended without a score, and returns their number.
// Errors are those of Get.
func Requeue(ctx context.Context, orchestrator orchestratorv1.OrchestratorServiceClient, id string) (*orchestratorv1.RequeueSweepResponse, error) {
	response, err := orchestrator.RequeueSweep(ctx, &orchestratorv1.RequeueSweepRequest{SweepId: id})
	if err != nil {
		return nil, ExplainUnknown(ctx, orchestrator, id, WrapStatus("requeue rollouts", err))
	}
	return response, nil
}

// Delete deletes a sweep that is over. Errors are those of Get.
func Delete(ctx context.Context, orchestrator orchestratorv1.OrchestratorServiceClient, id string) error {
	if _, err := orchestrator.DeleteSweep(ctx, &orchestratorv1.DeleteSweepRequest{SweepId: id}); err != nil {
		return ExplainUnknown(ctx, orchestrator, id, WrapStatus("delete sweep", err))
	}
	return nil
}

// Only returns the id of the only sweep of an installation. The error is ErrSeveral if there is
// another number of them.
func Only(ctx context.Context, orchestrator orchestratorv1.OrchestratorServiceClient) (string, error) {
	sweeps, err := List(ctx, orchestrator)
	if err != nil {
		return "", err
	}
	if len(sweeps) != 1 {
		return "", ErrSeveral
	}
	return sweeps[0].GetId(), nil
}
