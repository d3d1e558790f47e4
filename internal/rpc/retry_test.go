package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// TestClientRepeats makes calls without a deadline to a failing service. The client retries until
// an answer, a permanent error, or the end of its patience.
func TestClientRepeats(t *testing.T) {
	for name, test := range map[string]struct {
		fails []error // of the first tries
		want  codes.Code
		tries int64
		text  string
	}{
		"answers":   {nil, codes.OK, 1, ""},
		"away":      {slices.Repeat([]error{status.Error(codes.Unavailable, "away")}, 100), codes.OK, 101, ""},
		"slow":      {[]error{status.Error(codes.DeadlineExceeded, "slow"), status.Error(codes.Canceled, "stopping")}, codes.OK, 3, ""},
		"refused":   {[]error{status.Error(codes.NotFound, "none")}, codes.NotFound, 1, "none"},
		"away long": {slices.Repeat([]error{status.Error(codes.Unavailable, "stream SETUP does not answer")}, 1e6), codes.Unavailable, 603, "evaluator at 127.0.0.1:7404 has not answered for 10m0s (--remote-wait): stream SETUP does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var tries atomic.Int64
				service := &late{check: func(context.Context) error {
					if n := tries.Add(1); int(n) <= len(test.fails) {
						return test.fails[n-1]
					}
					return nil
				}}
				service.reached.Store(true)
				client, _ := service.client(t, &waitReporter{address: "127.0.0.1:7404", client: true, maxWait: 10 * time.Minute})
				_, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{})
				if status.Code(err) != test.want || tries.Load() != test.tries || test.text != "" && status.Convert(err).Message() != test.text {
					t.Errorf("got %v after %d tries, want %v %q after %d", err, tries.Load(), test.want, test.text, test.tries)
				}
			})
		})
	}
}

// TestClientWaitsForAnswers calls a service that never answers. Each try gets more time, and the
// patience bounds all of them.
func TestClientWaitsForAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int64
		service := &late{check: func(ctx context.Context) error {
			tries.Add(1)
			<-ctx.Done()
			return ctx.Err()
		}}
		service.reached.Store(true)
		client, _ := service.client(t, &waitReporter{address: "127.0.0.1:7404", client: true, maxWait: 10 * time.Minute})
		began := time.Now()
		_, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{})
		if took := time.Since(began).Round(time.Second); status.Code(err) != codes.DeadlineExceeded || took != 10*time.Minute || tries.Load() != 4 {
			t.Errorf("got %v after %s and %d tries, want DeadlineExceeded after 10m0s and 4", err, took, tries.Load())
		}
	})
}

// numbered is a service whose streams send serving statuses 0, 1, …, until breaks returns an error.
type numbered struct {
	late
	breaks func(stream, n int) error // before the n-th number
	opened int
}

func (s *numbered) Watch(_ *healthv1.HealthCheckRequest, stream healthv1.Health_WatchServer) error {
	s.opened++
	for n := range 10 {
		if err := s.breaks(s.opened, n); err != nil {
			return err
		}
		if err := stream.Send(&healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_ServingStatus(n)}); err != nil {
			return err
		}
	}
	return nil
}

// TestFollow reads streams that break. Follow reads each from its beginning, until it ends, is
// refused, or breaks for longer than the patience.
func TestFollow(t *testing.T) {
	away := status.Error(codes.Unavailable, "connection reset by peer")
	for name, test := range map[string]struct {
		breaks        func(stream, n int) error
		want          codes.Code
		opened, reads int
		took          time.Duration
	}{
		"whole":           {func(int, int) error { return nil }, codes.OK, 1, 10, 0},
		"breaks at first": {func(stream, n int) error { return map[bool]error{stream < 4 && n == 0: away}[true] }, codes.OK, 4, 10, 700 * time.Millisecond},
		"breaks on":       {func(stream, n int) error { return map[bool]error{n == stream: away}[true] }, codes.OK, 10, 10, 900 * time.Millisecond},
		"refused":         {func(int, int) error { return status.Error(codes.NotFound, "none") }, codes.NotFound, 1, 0, 0},
		"breaks for ever": {func(_, n int) error { return map[bool]error{n == 3: away}[true] }, codes.Unavailable, 601, 3, time.Minute},
		"refused later on": {func(stream, n int) error {
			return map[int]error{13: away, 23: status.Error(codes.DataLoss, "lost")}[10*stream+n]
		}, codes.DataLoss, 2, 3, 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				service := &numbered{breaks: test.breaks}
				service.reached.Store(true)
				client, _ := serveHealth(t, service, &service.reached, &waitReporter{address: "127.0.0.1:7404", client: true, maxWait: time.Minute})
				var read []int
				began := time.Now()
				err := Follow(t.Context(), func(ctx context.Context) (grpc.ServerStreamingClient[healthv1.HealthCheckResponse], error) {
					return client.Watch(ctx, &healthv1.HealthCheckRequest{})
				}, func() { read = nil }, func(message *healthv1.HealthCheckResponse) error {
					read = append(read, int(message.GetStatus()))
					return nil
				})
				inOrder := slices.IsSorted(read) && len(slices.Compact(slices.Clone(read))) == len(read)
				if status.Code(err) != test.want || service.opened != test.opened || len(read) != test.reads || !inOrder || time.Since(began).Round(100*time.Millisecond) != test.took {
					t.Errorf("got %v, %d streams, %v read in %s, want %v, %d, %d numbers in %s", err, service.opened, read, time.Since(began), test.want, test.opened, test.reads, test.took)
				}
			})
		})
	}
}

// TestFollowEnds ends Follow by an error of handle and by its context.
func TestFollowEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &numbered{breaks: func(_, n int) error { return map[bool]error{n == 5: status.Error(codes.Unavailable, "away")}[true] }}
		service.reached.Store(true)
		client, _ := serveHealth(t, service, &service.reached, &waitReporter{client: true, maxWait: time.Minute})
		ctx, cancel := context.WithCancel(t.Context())
		open := func(ctx context.Context) (grpc.ServerStreamingClient[healthv1.HealthCheckResponse], error) {
			return client.Watch(ctx, &healthv1.HealthCheckRequest{})
		}
		enough := fmt.Errorf("enough: %w", status.Error(codes.Unavailable, "of another call"))
		err := Follow(ctx, open, nil, func(*healthv1.HealthCheckResponse) error { return enough })
		if !errors.Is(err, enough) || service.opened != 1 {
			t.Errorf("an error of what is done: got %v after %d streams, want %v after 1", err, service.opened, enough)
		}
		err = Follow(ctx, open, cancel, func(*healthv1.HealthCheckResponse) error { return nil })
		if status.Code(err) != codes.Canceled || service.opened != 2 {
			t.Errorf("a context that ended: got %v after %d streams, want Canceled after 2", err, service.opened)
		}
	})
}
