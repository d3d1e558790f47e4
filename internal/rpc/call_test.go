package rpc_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// contextKey is the key of a value in a caller's context.
type contextKey struct{}

// TestErrors checks that a caller receives a status and never the handler's own error.
func TestErrors(t *testing.T) {
	failure := errors.New("out of luck")
	tests := map[string]struct {
		err  error
		code codes.Code
		text string
	}{
		"plain":    {failure, codes.Unknown, "out of luck"},
		"status":   {status.Error(codes.NotFound, "no such rollout"), codes.NotFound, "no such rollout"},
		"context":  {context.DeadlineExceeded, codes.DeadlineExceeded, "context deadline exceeded"},
		"wrapping": {errors.Join(failure, context.Canceled), codes.Canceled, "out of luck\ncontext canceled"},
	}
	for name, open := range transports() {
		t.Run(name, func(t *testing.T) {
			l := open(t, nil)
			l.serve(t, &orchestrator{trajectory: func(_ context.Context, id string) (*orchestratorv1.GetTrajectoryResponse, error) {
				return nil, tests[id].err
			}})
			_, _ = l.caller().GetTrajectory(within(t), &orchestratorv1.GetTrajectoryRequest{RolloutId: "status"}) // until it serves
			for id, want := range tests {
				var err error
				for wait := time.Second; status.Code(err) != want.code && wait < patience; wait *= 2 { // which bounds the client's retries
					ctx, cancel := context.WithTimeout(t.Context(), wait)
					_, err = l.caller().GetTrajectory(ctx, &orchestratorv1.GetTrajectoryRequest{RolloutId: id})
					cancel()
				}
				if status.Code(err) != want.code || !strings.Contains(err.Error(), want.text) || errors.Is(err, failure) {
					t.Errorf("%s: got %v, want %v %q and nothing else", id, err, want.code, want.text)
				}
			}
		})
	}
}

// TestCallerLeaves ends calls of a blocked handler by a deadline and by cancellation. The caller
// returns at once, and the handler's context ends.
func TestCallerLeaves(t *testing.T) {
	for name, open := range transports() {
		t.Run(name, func(t *testing.T) {
			l := open(t, nil)
			entered, ended, release := make(chan string, 100), make(chan string, 100), make(chan struct{})
			l.serve(t, &orchestrator{trajectory: func(ctx context.Context, id string) (*orchestratorv1.GetTrajectoryResponse, error) {
				if id == "connect" {
					return named(id), nil
				}
				if _, limited := ctx.Deadline(); id == "deadline" && !limited {
					t.Error("deadline of the handler: got none, want the caller's")
				}
				entered <- id
				<-ctx.Done()
				ended <- id
				<-release // ignores the end of its context
				return nil, ctx.Err()
			}})
			defer close(release)
			if _, err := l.caller().GetTrajectory(within(t), &orchestratorv1.GetTrajectoryRequest{RolloutId: "connect"}); err != nil {
				t.Fatal(err)
			}
			for wait := 50 * time.Millisecond; len(entered) == 0; wait *= 2 { // a call may not get there in time
				ctx, cancel := context.WithTimeout(t.Context(), wait)
				_, err := l.caller().GetTrajectory(ctx, &orchestratorv1.GetTrajectoryRequest{RolloutId: "deadline"})
				cancel()
				if status.Code(err) != codes.DeadlineExceeded {
					t.Errorf("deadline: got %v, want DEADLINE_EXCEEDED", err)
				}
			}
			<-ended
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for call := ""; call != "cancel"; { // those with a deadline may be late
					call = <-entered
				}
				cancel()
			}()
			if _, err := l.caller().GetTrajectory(ctx, &orchestratorv1.GetTrajectoryRequest{RolloutId: "cancel"}); status.Code(err) != codes.Canceled {
				t.Errorf("cancel: got %v, want CANCELLED", err)
			}
			for call := ""; call != "cancel"; {
				call = <-ended
			}
		})
	}
}

// TestNothingIsShared checks that a change of a message that is not of a conversation is invisible
// on the other side, and that the handler sees no values of the caller's context.
func TestNothingIsShared(t *testing.T) {
	for name, open := range transports() {
		t.Run(name, func(t *testing.T) {
			l := open(t, nil)
			kept := named("s.0")
			l.serve(t, &orchestrator{trajectory: func(ctx context.Context, _ string) (*orchestratorv1.GetTrajectoryResponse, error) {
				md, _ := metadata.FromIncomingContext(ctx)
				if got := md.Get("said"); len(got) != 1 || got[0] != "so" || ctx.Value(contextKey{}) != nil {
					t.Errorf("metadata and value: got %v, %v, want [so], nil", got, ctx.Value(contextKey{}))
				}
				return kept, nil
			}})
			ctx := metadata.AppendToOutgoingContext(context.WithValue(within(t), contextKey{}, "secret"), "said", "so")
			for range 2 {
				got, err := l.caller().GetTrajectory(ctx, &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.0"})
				if err != nil || got.GetRollout().GetId() != "s.0" {
					t.Fatalf("GetTrajectory: got %v, %v, want s.0, nil", got, err)
				}
				got.Rollout.Id = "changed"
			}
		})
	}
}

// TestServiceRepeats calls a service that is unavailable for a moment, as a service and as a
// client. The handler learns that the call is a retry.
func TestServiceRepeats(t *testing.T) {
	for name, open := range transports() {
		t.Run(name, func(t *testing.T) {
			l := open(t, nil)
			var calls atomic.Int32
			l.serve(t, &orchestrator{trajectory: func(ctx context.Context, id string) (*orchestratorv1.GetTrajectoryResponse, error) {
				n := calls.Add(1)
				if rpc.IsRetry(ctx) != (n > 1) {
					t.Errorf("call %d: repeated is %v, want %v", n, rpc.IsRetry(ctx), n > 1)
				}
				if n < 3 {
					return nil, status.Error(codes.Unavailable, "busy")
				}
				return named(id), nil
			}})
			if _, err := l.caller().GetTrajectory(within(t), &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.0"}); err != nil || calls.Load() != 3 {
				t.Errorf("GetTrajectory: got %v after %d calls, want nil after 3", err, calls.Load())
			}
			calls.Store(0)
			stream, err := l.caller().GetRecording(within(t), &orchestratorv1.GetRecordingRequest{RolloutId: "s.0"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := stream.Recv(); err != nil || calls.Load() != 3 {
				t.Errorf("GetRecording: got %v after %d calls, want nil after 3", err, calls.Load())
			}
			if _, err := l.caller().GetTrajectory(within(t), &orchestratorv1.GetTrajectoryRequest{}); status.Code(err) != codes.InvalidArgument || calls.Load() != 3 {
				t.Errorf("request that breaks a rule: got %v after %d calls, want %v after 3", err, calls.Load(), codes.InvalidArgument)
			}
		})
	}
}

// TestRequestIsChangedAfterwards changes requests after their calls have returned, even if the
// handler has not read them yet.
func TestRequestIsChangedAfterwards(t *testing.T) {
	for name, open := range transports() {
		t.Run(name, func(t *testing.T) {
			l := open(t, nil)
			l.serve(t, &orchestrator{trajectory: func(_ context.Context, id string) (*orchestratorv1.GetTrajectoryResponse, error) {
				if id != "before.0" {
					t.Errorf("request: got %s, want before.0", id)
				}
				return named(id), nil
			}})
			for i := range 300 {
				request := &orchestratorv1.GetTrajectoryRequest{RolloutId: "before.0"}
				ctx, cancel := context.WithCancel(t.Context())
				if i%2 == 1 {
					go cancel()
				}
				response, err := l.caller().GetTrajectory(ctx, request)
				if err == nil && response.GetRollout().GetId() != "before.0" || err != nil && status.Code(err) != codes.Canceled {
					t.Errorf("GetTrajectory: got %v, %v, want before.0 or %v", response, err, codes.Canceled)
				}
				request.RolloutId = "after.0"
				cancel()
			}
		})
	}
}

func TestUnknownMethod(t *testing.T) {
	for name, open := range transports() {
		t.Run(name, func(t *testing.T) {
			l := open(t, nil)
			l.serve(t, &orchestrator{trajectory: echo})
			err := l.client.Conn(rpc.Orchestrator).Invoke(within(t), "/toolsandbox.orchestrator.v1.OrchestratorService/Praise", &orchestratorv1.GetTrajectoryRequest{}, &orchestratorv1.GetTrajectoryResponse{})
			if status.Code(err) != codes.Unimplemented {
				t.Errorf("got %v, want %v", err, codes.Unimplemented)
			}
		})
	}
}

// TestPanic checks that a panic of a handler ends the process.
func TestPanic(t *testing.T) {
	const variable = "TOOLSANDBOX_TEST_PANIC"
	for name, open := range transports() {
		t.Run(name, func(t *testing.T) {
			if os.Getenv(variable) == name {
				l := open(t, nil)
				l.serve(t, &orchestrator{trajectory: func(context.Context, string) (*orchestratorv1.GetTrajectoryResponse, error) { panic("handler panics") }})
				_, err := l.caller().GetTrajectory(within(t), &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.0"}, grpc.WaitForReady(true))
				t.Fatalf("process lives on: %v", err)
			}
			child := exec.CommandContext(within(t), os.Args[0], "-test.run=^TestPanic$/^"+name+"$")
			child.Env = append(os.Environ(), variable+"="+name, "TMPDIR="+t.TempDir()) // a process that panics leaves its files
			output, err := child.CombinedOutput()
			if err == nil || !strings.Contains(string(output), "panic: handler panics") {
				t.Errorf("process whose handler panics: got %v, %s, want the end by that panic", err, output)
			}
		})
	}
}
