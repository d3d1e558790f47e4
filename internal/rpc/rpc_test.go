package rpc_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

// TestCallWaitsForTheService calls a service before it serves.
func TestCallWaitsForTheService(t *testing.T) {
	for name, open := range transports() {
		t.Run(name, func(t *testing.T) {
			l := open(t, nil)
			type answer struct {
				response *orchestratorv1.GetTrajectoryResponse
				err      error
			}
			answered := make(chan answer, 1)
			go func() {
				response, err := l.caller().GetTrajectory(within(t), &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.0"})
				answered <- answer{response, err}
			}()
			l.serve(t, &orchestrator{trajectory: echo})
			if got := <-answered; got.err != nil || got.response.GetRollout().GetId() != "s.0" {
				t.Errorf("GetTrajectory: got %v, %v, want s.0, nil", got.response, got.err)
			}
		})
	}
}

func TestHosts(t *testing.T) {
	want := map[string][3]bool{"memory": {true, true, true}, "TCP": {true, false, false}}
	for name, open := range transports() {
		t.Run(name, func(t *testing.T) {
			l := open(t, nil)
			got := [3]bool{l.server.Hosts(rpc.Orchestrator), l.server.Hosts(rpc.Evaluator), l.client.Hosts(rpc.Orchestrator)}
			if got != want[name] {
				t.Errorf("Hosts of server, of another service, of client: got %v, want %v", got, want[name])
			}
			if l.server.Bus() == nil {
				t.Error("Bus of the server: got nil, want one")
			}
			if got := l.client.Bus() == nil; got != (name == "TCP") {
				t.Errorf("client without a bus: got %v, want %v", got, name == "TCP")
			}
		})
	}
}

func TestRequestsAreValidated(t *testing.T) {
	for name, open := range transports() {
		t.Run(name, func(t *testing.T) {
			l := open(t, nil)
			l.serve(t, &orchestrator{trajectory: echo})
			ctx := within(t)
			_, unary := l.caller().GetTrajectory(ctx, &orchestratorv1.GetTrajectoryRequest{RolloutId: "a b"})
			watch := func(id string) (*orchestratorv1.GetRecordingResponse, error) {
				stream, err := l.caller().GetRecording(ctx, &orchestratorv1.GetRecordingRequest{RolloutId: id})
				if err != nil {
					t.Fatal(err)
				}
				return stream.Recv()
			}
			_, stream := watch("a b")
			for call, err := range map[string]error{"unary": unary, "stream": stream} {
				if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "rollout_id") {
					t.Errorf("%s call that breaks a rule: got %v, want %v that names rollout_id", call, err, codes.InvalidArgument)
				}
			}
			if got, err := watch("s.0"); err != nil || got.GetItem().GetIndex() != int32(len("s.0")) {
				t.Errorf("stream call that breaks none: got %v, %v, want an item of s.0, nil", got, err)
			}
		})
	}
}

func TestRunningCallEndsWithinTheGrace(t *testing.T) {
	long := func(cfg *rpc.Config) { cfg.Grace = patience }
	for name, open := range transports() {
		t.Run(name, func(t *testing.T) {
			l := open(t, long)
			running, release := make(chan struct{}), make(chan struct{})
			stop := l.serve(t, &orchestrator{trajectory: func(_ context.Context, id string) (*orchestratorv1.GetTrajectoryResponse, error) {
				close(running)
				<-release
				return named(id), nil
			}})
			answered := make(chan error, 1)
			go func() {
				_, err := l.caller().GetTrajectory(within(t), &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.0"})
				answered <- err
			}()
			<-running
			stopping := make(chan struct{})
			go func() { defer close(stopping); stop() }()
			waitFor(t, l.server, "the service does not accept calls")
			close(release)
			if err := <-answered; err != nil {
				t.Errorf("call that was running: got %v, want nil", err)
			}
			<-stopping
		})
	}
}

// waitFor waits until a node is not ready for a reason, "" until it is ready.
func waitFor(t *testing.T, m *rpc.Node, reason string) {
	t.Helper()
	ctx := within(t)
	for {
		attempt, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		err := m.Ready(attempt)
		cancel()
		if err == nil && reason == "" || err != nil && reason != "" && strings.HasPrefix(err.Error(), reason) {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("Ready: got %v, want %q", err, reason)
		}
	}
}

func TestRunningCallIsCutAfterTheGrace(t *testing.T) {
	short := func(cfg *rpc.Config) { cfg.Grace = 50 * time.Millisecond }
	for name, open := range transports() {
		t.Run(name, func(t *testing.T) {
			l := open(t, short)
			running := make(chan struct{})
			cut := make(chan error, 1)
			stop := l.serve(t, &orchestrator{trajectory: func(ctx context.Context, _ string) (*orchestratorv1.GetTrajectoryResponse, error) {
				close(running)
				<-ctx.Done()
				cut <- ctx.Err()
				return nil, ctx.Err()
			}})
			ctx, give := context.WithCancel(t.Context())
			answered := make(chan error, 1)
			go func() {
				_, err := l.caller().GetTrajectory(ctx, &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.0"})
				answered <- err
			}()
			<-running
			stop()
			if err := <-cut; err == nil {
				t.Error("context of the running call: got no error, want one")
			}
			give() // the client waits for another server
			if err := <-answered; err == nil {
				t.Error("call that was cut: got nil, want an error")
			}
		})
	}
}

// TestHeaderSize sends headers, which a server holds before it knows who calls.
func TestHeaderSize(t *testing.T) {
	l := transports()["TCP"](t, nil)
	l.serve(t, &orchestrator{trajectory: func(context.Context, string) (*orchestratorv1.GetTrajectoryResponse, error) {
		return &orchestratorv1.GetTrajectoryResponse{}, nil
	}})
	for bytes, want := range map[int]codes.Code{rpc.MaxHeaderBytes / 2: codes.OK, rpc.MaxHeaderBytes: codes.Internal} {
		ctx := metadata.AppendToOutgoingContext(within(t), "x", strings.Repeat("x", bytes))
		if _, err := l.caller().GetTrajectory(ctx, &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.0"}); status.Code(err) != want {
			t.Errorf("header of %d bytes: got %v, want %v", bytes, err, want)
		}
	}
}

func TestMessageSize(t *testing.T) {
	const limit = 1 << 16
	small := func(cfg *rpc.Config) { cfg.MaxMessageBytes = limit }
	for name, open := range transports() {
		t.Run(name, func(t *testing.T) {
			l := open(t, small)
			l.serve(t, &orchestrator{trajectory: func(context.Context, string) (*orchestratorv1.GetTrajectoryResponse, error) {
				return &orchestratorv1.GetTrajectoryResponse{End: &busv1.End{Detail: strings.Repeat("x", limit)}}, nil
			}})
			request := func(bytes int) error {
				_, err := l.caller().PutRecording(within(t), &orchestratorv1.PutRecordingRequest{RolloutId: "s.0", Items: []*orchestratorv1.RecordedItem{
					{Item: &orchestratorv1.RecordedItem_Answer{Answer: &toolhostv1.ServiceAnswer{ExceptionText: strings.Repeat("x", bytes)}}},
				}})
				return err
			}
			if err := request(limit - 100); err != nil {
				t.Errorf("request below the limit: got %v, want nil", err)
			}
			_, answer := l.caller().GetTrajectory(within(t), &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.0"})
			for what, err := range map[string]error{"request": request(limit), "answer": answer} {
				if status.Code(err) != codes.ResourceExhausted {
					t.Errorf("%s above the limit: got %v, want %v", what, err, codes.ResourceExhausted)
				}
			}
		})
	}
}
