package rpc_test

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// TestUploadsWait sends more uploads than a process handles at once. The others wait, other calls
// do not, and a caller may give up.
func TestUploadsWait(t *testing.T) {
	slots := max(2, runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	running, most := 0, 0
	count := func(change int) {
		mu.Lock()
		defer mu.Unlock()
		running += change
		most = max(most, running)
	}
	entered, release := make(chan struct{}, 4*slots), make(chan struct{})
	o := &orchestrator{trajectory: echo, put: func(context.Context) {
		count(1)
		entered <- struct{}{}
		<-release
		count(-1)
	}}
	l := transports()["TCP"](t, nil)
	l.serve(t, o)
	var group sync.WaitGroup
	for range 3 * slots {
		group.Go(func() {
			if _, err := l.caller().PutRecording(within(t), &orchestratorv1.PutRecordingRequest{RolloutId: "s.0"}); err != nil {
				t.Errorf("PutRecording: %v", err)
			}
		})
	}
	for range slots {
		<-entered
	}
	if _, err := l.caller().GetTrajectory(within(t), &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.0"}); err != nil {
		t.Errorf("another call beside uploads: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.caller().PutRecording(ctx, &orchestratorv1.PutRecordingRequest{RolloutId: "s.0"}); status.Code(err) != codes.Canceled {
		t.Errorf("upload whose caller gives up: got %v, want %v", err, codes.Canceled)
	}
	close(release)
	group.Wait()
	if most != slots {
		t.Errorf("uploads at once: got %d, want %d", most, slots)
	}
}
