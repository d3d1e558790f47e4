package rpc_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/access"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// serveTeams serves the orchestrator for the teams red and blue, and returns a client of each.
func serveTeams(t *testing.T, o *orchestrator) (red, blue orchestratorv1.OrchestratorServiceClient) {
	t.Helper()
	cfg := rpc.DefaultConfig()
	cfg.Service, cfg.NATSURL, cfg.Orchestrators = rpc.Orchestrator, startNATS(t), []string{porttest.Address(t)}
	cfg.AccessFile = filepath.Join(t.TempDir(), "access.yaml")
	text := fmt.Sprintf("tokens: [{sha256: %x, team: red}, {sha256: %x, team: blue}]\nteams: {red: {}, blue: {}}\n",
		sha256.Sum256([]byte("token-of-red")), sha256.Sum256([]byte("token-of-blue")))
	if err := os.WriteFile(cfg.AccessFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := rpc.Connect(t.Context(), cfg, options())
	link{server: closed(t, m, err)}.serve(t, o)
	waitForPort(t, cfg.Orchestrators[0])
	client := func(team string) orchestratorv1.OrchestratorServiceClient {
		as := cfg
		as.Remote, as.TokenFile = true, filepath.Join(t.TempDir(), team)
		if err := os.WriteFile(as.TokenFile, []byte("token-of-"+team), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := rpc.Open(t.Context(), as, "", options())
		return link{client: closed(t, m, err)}.caller()
	}
	return client("red"), client("blue")
}

// TestUploadsOfATeam has a team keep as many uploads open as it can. Another team's still pass.
func TestUploadsOfATeam(t *testing.T) {
	slots := max(2, runtime.GOMAXPROCS(0))
	entered, release := make(chan struct{}, 4*slots), make(chan struct{})
	red, blue := serveTeams(t, &orchestrator{put: func(ctx context.Context) {
		if access.FromContext(ctx).Team == "red" {
			entered <- struct{}{}
			<-release
		}
	}})
	put := func(client orchestratorv1.OrchestratorServiceClient) error {
		_, err := client.PutRecording(within(t), &orchestratorv1.PutRecordingRequest{RolloutId: "s.0"})
		return err
	}
	var group sync.WaitGroup
	for range 4 * slots {
		group.Go(func() {
			if err := put(red); err != nil {
				t.Errorf("upload of a team beside its others: got %v, want nil", err)
			}
		})
	}
	for range slots - 1 {
		<-entered
	}
	if err := put(blue); err != nil {
		t.Errorf("upload of another team: got %v, want nil", err)
	}
	close(release)
	group.Wait()
}

// TestReadsOfATeam has a team read more rollouts than it may at once. Its calls wait for each
// other, and those of another team do not.
func TestReadsOfATeam(t *testing.T) {
	const calls, most = 40, 8
	var mu sync.Mutex
	running, largest := 0, 0
	count := func(change int) {
		mu.Lock()
		defer mu.Unlock()
		running += change
		largest = max(largest, running)
	}
	entered, release := make(chan struct{}, calls), make(chan struct{})
	red, blue := serveTeams(t, &orchestrator{trajectory: func(ctx context.Context, id string) (*orchestratorv1.GetTrajectoryResponse, error) {
		if access.FromContext(ctx).Team == "red" {
			count(1)
			defer count(-1)
			entered <- struct{}{}
			<-release
		}
		return named(id), nil
	}})
	read := func(client orchestratorv1.OrchestratorServiceClient) error {
		_, err := client.GetTrajectory(within(t), &orchestratorv1.GetTrajectoryRequest{RolloutId: "s.0"})
		return err
	}
	var group sync.WaitGroup
	for range calls {
		group.Go(func() {
			if err := read(red); err != nil {
				t.Errorf("call of a team beside its others: got %v, want nil", err)
			}
		})
	}
	for range most {
		<-entered
	}
	if err := read(blue); err != nil {
		t.Errorf("call of another team: got %v, want nil", err)
	}
	close(release)
	group.Wait()
	if largest != most {
		t.Errorf("calls of a team at once: got %d, want %d", largest, most)
	}
}

// TestStreamsOfATeam has a team open streams until it may open no more. Another team, and this one
// after the end of a stream, may.
func TestStreamsOfATeam(t *testing.T) {
	const enough = 1000
	red, blue := serveTeams(t, &orchestrator{watch: func(stream orchestratorv1.OrchestratorService_WatchSweepServer) error {
		if err := stream.Send(&orchestratorv1.WatchSweepResponse{}); err != nil {
			return err
		}
		<-stream.Context().Done()
		return stream.Context().Err()
	}})
	open := func(client orchestratorv1.OrchestratorServiceClient) (end func(), err error) {
		ctx, cancel := context.WithCancel(within(t))
		stream, err := client.WatchSweep(ctx, &orchestratorv1.WatchSweepRequest{SweepId: "s"})
		if err == nil {
			_, err = stream.Recv()
		}
		return cancel, err
	}
	var ends []func()
	defer func() {
		for _, end := range ends {
			end()
		}
	}()
	var refused error
	for refused == nil && len(ends) < enough {
		var end func()
		end, refused = open(red)
		ends = append(ends, end)
	}
	if status.Code(refused) != codes.ResourceExhausted {
		t.Fatalf("stream %d of a team: got %v, want %v", len(ends), refused, codes.ResourceExhausted)
	}
	end, err := open(blue)
	ends = append(ends, end)
	if err != nil {
		t.Errorf("stream of another team: got %v, want nil", err)
	}
	ends[0]()
	err = refused
	for ctx := within(t); status.Code(err) == codes.ResourceExhausted && ctx.Err() == nil; { // its handler ends soon
		end, err = open(red)
		ends = append(ends, end)
	}
	if err != nil {
		t.Errorf("stream after the end of another one: got %v, want nil", err)
	}
}
