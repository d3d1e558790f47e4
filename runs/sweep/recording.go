package sweep

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

const (
	// putBytes and putItems limit one request with items of a recording, except for its last item.
	putBytes = 4 << 20
	putItems = 1000
	// putters is the number of rollouts whose recordings are uploaded concurrently.
	putters = 8
)

// Recording is the external input of an earlier run of the same sweep. Its methods are called
// concurrently.
type Recording interface {
	// Digest identifies the recording: hexadecimal digits.
	Digest() string
	// Visit calls visit with each item of the n-th rollout of the plan, in order.
	Visit(n int, visit func(*orchestratorv1.RecordedItem) error) error
}

// HasExternalInput returns whether a rollout has external input to record: a model, a plug-in or a
// person plays, or hosted services or tool servers are asked. toolServers reports the latter.
func HasExternalInput(toolServers bool, services toolhostv1.HostedServices, players ...*agentgwv1.Player) bool {
	return toolServers || services == toolhostv1.HostedServices_HOSTED_SERVICES_LIVE || services == toolhostv1.HostedServices_HOSTED_SERVICES_RECORD ||
		slices.ContainsFunc(players, func(p *agentgwv1.Player) bool { return p.GetModel() != nil || p.GetPlugin() != nil })
}

// HasToolServers returns whether any scenario has tool servers.
func HasToolServers(scenarios []*scenariov1.Scenario) bool {
	return slices.ContainsFunc(scenarios, func(s *scenariov1.Scenario) bool { return len(s.GetSetup().GetToolServers()) > 0 })
}

// uploadRecording uploads the recording for the sweep's rollouts, once per id.
func (s *Sweep) uploadRecording(ctx context.Context) error {
	if s.recording == nil || s.uploadedFor == s.ID() {
		return nil
	}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(putters)
	for n := 0; n < s.rollouts && within.Err() == nil; n++ {
		group.Go(func() error { return s.uploadRollout(within, n) })
	}
	if err := group.Wait(); err != nil || ctx.Err() != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	s.uploadedFor = s.ID()
	return nil
}

func (s *Sweep) uploadRollout(ctx context.Context, n int) error {
	request := &orchestratorv1.PutRecordingRequest{RolloutId: s.ID() + "." + strconv.Itoa(n)}
	size := 0
	put := func() error {
		if len(request.GetItems()) == 0 {
			return nil
		}
		_, err := s.orchestrator.PutRecording(ctx, request)
		request.Items, size = nil, 0
		if err != nil {
			return WrapStatus("store the recording of "+request.GetRolloutId(), err)
		}
		return nil
	}
	err := s.recording.Visit(n, func(item *orchestratorv1.RecordedItem) error {
		request.Items, size = append(request.GetItems(), item), size+proto.Size(item)
		if size < putBytes && len(request.GetItems()) < putItems {
			return nil
		}
		return put()
	})
	return errors.Join(err, put())
}

// Recorded returns the external input of one rollout.
func (s *Sweep) Recorded(ctx context.Context, rolloutID string) ([]*orchestratorv1.RecordedItem, error) {
	return Recorded(ctx, s.orchestrator, rolloutID)
}

// Recorded asks an orchestrator for the external input of one rollout.
func Recorded(ctx context.Context, orchestrator orchestratorv1.OrchestratorServiceClient, rolloutID string) ([]*orchestratorv1.RecordedItem, error) {
	operation := "read recording of " + rolloutID
	var items []*orchestratorv1.RecordedItem
	err := rpc.Follow(ctx, func(ctx context.Context) (grpc.ServerStreamingClient[orchestratorv1.GetRecordingResponse], error) {
		return orchestrator.GetRecording(ctx, &orchestratorv1.GetRecordingRequest{RolloutId: rolloutID})
	}, func() { items = nil }, func(response *orchestratorv1.GetRecordingResponse) error {
		items = append(items, response.GetItem())
		return nil
	})
	if status.Code(err) == codes.NotFound {
		return nil, WrapStatus(operation, status.Error(codes.NotFound, "it has not started"))
	}
	if err != nil {
		return nil, WrapStatus(operation, err)
	}
	return items, nil
}
