package rpc_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/toolsandbox/toolsandbox/internal/natsserver"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait for an expected event.
const patience = time.Minute

func options() rpc.Options { return rpc.Options{Logger: slog.New(slog.DiscardHandler)} }

// orchestrator is a service whose answers the test defines.
type orchestrator struct {
	orchestratorv1.UnimplementedOrchestratorServiceServer
	trajectory func(ctx context.Context, id string) (*orchestratorv1.GetTrajectoryResponse, error)
	// recording answers GetRecording, if not nil.
	recording func(stream orchestratorv1.OrchestratorService_GetRecordingServer) error
	// watch answers WatchSweep.
	watch func(stream orchestratorv1.OrchestratorService_WatchSweepServer) error
	// put is called by PutRecording, if not nil.
	put func(ctx context.Context)
}

func (o *orchestrator) GetTrajectory(ctx context.Context, req *orchestratorv1.GetTrajectoryRequest) (*orchestratorv1.GetTrajectoryResponse, error) {
	return o.trajectory(ctx, req.GetRolloutId())
}

func (o *orchestrator) PutRecording(ctx context.Context, _ *orchestratorv1.PutRecordingRequest) (*orchestratorv1.PutRecordingResponse, error) {
	if o.put != nil {
		o.put(ctx)
	}
	return &orchestratorv1.PutRecordingResponse{}, nil
}

func (o *orchestrator) WatchSweep(_ *orchestratorv1.WatchSweepRequest, stream orchestratorv1.OrchestratorService_WatchSweepServer) error {
	return o.watch(stream)
}

// GetRecording sends one item, whose index is the length of the rollout's id, unless the test
// defines its answer.
func (o *orchestrator) GetRecording(req *orchestratorv1.GetRecordingRequest, stream orchestratorv1.OrchestratorService_GetRecordingServer) error {
	if o.recording != nil {
		return o.recording(stream)
	}
	response, err := o.trajectory(stream.Context(), req.GetRolloutId())
	if err != nil {
		return err
	}
	return stream.Send(&orchestratorv1.GetRecordingResponse{Item: &orchestratorv1.RecordedItem{Index: int32(len(response.GetRollout().GetId()))}})
}

func named(id string) *orchestratorv1.GetTrajectoryResponse {
	return &orchestratorv1.GetTrajectoryResponse{Rollout: &busv1.Rollout{Id: id}}
}

// echo returns a trajectory with the requested id.
func echo(_ context.Context, id string) (*orchestratorv1.GetTrajectoryResponse, error) {
	return named(id), nil
}

// startNATS starts a server and returns its URL.
func startNATS(t *testing.T) string {
	t.Helper()
	address := porttest.Address(t)
	natstest.Serve(t, natsserver.Config{Dir: t.TempDir(), Listen: address})
	cfg := rpc.DefaultConfig()
	cfg.NATSURL = "nats://" + address
	if err := rpc.InitBus(within(t), cfg, options().Logger); err != nil {
		t.Fatal(err)
	}
	return cfg.NATSURL
}

func closed(t *testing.T, m *rpc.Node, err error) *rpc.Node {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Errorf("close node: %v", err)
		}
	})
	return m
}

// link is a process that serves the orchestrator and a process that calls it.
type link struct{ server, client *rpc.Node }

// transports returns the ways to connect them: in one process, or each in its own.
func transports() map[string]func(t *testing.T, change func(*rpc.Config)) link {
	return map[string]func(t *testing.T, change func(*rpc.Config)) link{
		"memory": func(t *testing.T, change func(*rpc.Config)) link {
			t.Helper()
			m, err := rpc.Open(t.Context(), configure(change), t.TempDir(), options())
			m = closed(t, m, err)
			return link{m, m}
		},
		"TCP": func(t *testing.T, change func(*rpc.Config)) link {
			t.Helper()
			cfg := configure(change)
			cfg.NATSURL = startNATS(t)
			cfg.Orchestrators = []string{porttest.Address(t)}
			server := cfg
			server.Service = rpc.Orchestrator
			m, err := rpc.Connect(t.Context(), server, options())
			m = closed(t, m, err)
			cfg.Remote = true
			client, err := rpc.Open(t.Context(), cfg, "", options())
			return link{m, closed(t, client, err)}
		},
	}
}

// configure returns the default configuration with a change, which may be nil.
func configure(change func(*rpc.Config)) rpc.Config {
	cfg := rpc.DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	return cfg
}

func (l link) caller() orchestratorv1.OrchestratorServiceClient {
	return orchestratorv1.NewOrchestratorServiceClient(l.client.Conn(rpc.Orchestrator))
}

// serve serves the orchestrator until stop is called. stop waits for its end.
func (l link) serve(t *testing.T, o *orchestrator) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- l.server.Serve(ctx, rpc.Orchestrator, func(r grpc.ServiceRegistrar) { orchestratorv1.RegisterOrchestratorServiceServer(r, o) })
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: got %v, want nil", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// checkError compares an error's text with a pattern, in which "…" matches any text.
func checkError(t *testing.T, what string, err error, want string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: got nil, want %s", what, want)
		return
	}
	got := err.Error()
	for _, part := range strings.Split(want, "…") {
		_, rest, ok := strings.Cut(got, part)
		if !ok {
			t.Errorf("%s: got %v, want %s", what, err, want)
			return
		}
		got = rest
	}
}
