package rpc_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

var request = &orchestratorv1.GetRecordingRequest{RolloutId: "s.0"}

// TestStream reads a stream that ends with an error. It delivers all messages before it, shares
// none of them, and carries the caller's metadata but no values of its context.
func TestStream(t *testing.T) {
	for name, open := range transports() {
		t.Run(name, func(t *testing.T) {
			l := open(t, nil)
			l.serve(t, &orchestrator{recording: func(stream orchestratorv1.OrchestratorService_GetRecordingServer) error {
				ctx := stream.Context()
				md, _ := metadata.FromIncomingContext(ctx)
				if got := md.Get("said"); len(got) != 1 || got[0] != "so" || ctx.Value(contextKey{}) != nil {
					t.Errorf("metadata and value: got %v, %v, want [so], nil", got, ctx.Value(contextKey{}))
				}
				sent := &orchestratorv1.GetRecordingResponse{Item: &orchestratorv1.RecordedItem{}}
				for sent.Item.Index = 1; sent.GetItem().GetIndex() <= 3; sent.Item.Index++ {
					if err := stream.Send(sent); err != nil {
						return err
					}
				}
				return status.Error(codes.DataLoss, "the rest is lost")
			}})
			ctx := metadata.AppendToOutgoingContext(context.WithValue(within(t), contextKey{}, "secret"), "said", "so")
			stream, err := l.caller().GetRecording(ctx, request)
			if err != nil {
				t.Fatal(err)
			}
			var received []*orchestratorv1.GetRecordingResponse
			for {
				response, err := stream.Recv()
				if status.Code(err) == codes.DataLoss {
					break
				}
				if err != nil {
					t.Fatalf("receive: got %v, want DataLoss in the end", err)
				}
				received = append(received, response)
			}
			if len(received) != 3 || received[0].GetItem().GetIndex() != 1 || received[2].GetItem().GetIndex() != 3 {
				t.Errorf("received: got %v, want indices 1 to 3", received)
			}
		})
	}
}

// TestCallerLeavesStream ends streams of a blocked handler by a deadline and by cancellation. The
// caller returns at once, and the handler's context ends.
func TestCallerLeavesStream(t *testing.T) {
	for name, open := range transports() {
		t.Run(name, func(t *testing.T) {
			l := open(t, nil)
			ended := make(chan error, 100)
			l.serve(t, &orchestrator{recording: func(stream orchestratorv1.OrchestratorService_GetRecordingServer) error {
				if err := stream.Send(&orchestratorv1.GetRecordingResponse{}); err != nil {
					return err
				}
				<-stream.Context().Done()
				ended <- stream.Context().Err()
				return stream.Context().Err()
			}})
			for want, wait := range map[codes.Code]time.Duration{codes.DeadlineExceeded: time.Second, codes.Canceled: patience} {
				stream, cancel := l.firstMessage(t, wait)
				if want == codes.Canceled {
					cancel()
				}
				if _, err := stream.Recv(); status.Code(err) != want {
					t.Errorf("stream of a caller who leaves: got %v, want %s", err, want)
				}
				if err := <-ended; err == nil {
					t.Errorf("%s: context of the handler: got no error, want one", want)
				}
				cancel()
			}
		})
	}
}

// firstMessage opens a stream with a deadline and receives its first message, if need be with more
// time.
func (l link) firstMessage(t *testing.T, wait time.Duration) (orchestratorv1.OrchestratorService_GetRecordingClient, context.CancelFunc) {
	t.Helper()
	for ; ; wait *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		stream, err := l.caller().GetRecording(ctx, request)
		if err == nil {
			_, err = stream.Recv()
		}
		if err == nil {
			return stream, cancel
		}
		cancel()
		if status.Code(err) != codes.DeadlineExceeded || wait > patience {
			t.Fatalf("first message: got %v, want nil", err)
		}
	}
}

// TestOptions rejects an option that a call in one process cannot obey.
func TestOptions(t *testing.T) {
	l := transports()["memory"](t, nil)
	l.serve(t, &orchestrator{trajectory: echo})
	_, err := l.caller().GetTrajectory(within(t), &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.0"}, grpc.Header(&metadata.MD{}))
	if status.Code(err) != codes.Internal {
		t.Errorf("call with an option: got %v, want Internal", err)
	}
	stream, err := l.caller().GetRecording(within(t), request, grpc.Header(&metadata.MD{}))
	if err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.Internal {
		t.Errorf("stream with an option: got %v, want Internal", err)
	}
}

// TestStreamOfRequests opens a stream of requests, which no service has.
func TestStreamOfRequests(t *testing.T) {
	l := transports()["memory"](t, nil)
	l.serve(t, &orchestrator{trajectory: echo})
	desc := &grpc.StreamDesc{StreamName: "GetRecording", ServerStreams: true, ClientStreams: true}
	_, err := l.client.Conn(rpc.Orchestrator).NewStream(within(t), desc, orchestratorv1.OrchestratorService_GetRecording_FullMethodName)
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("stream of requests: got %v, want %v", err, codes.Unimplemented)
	}
}
